// What an agent's run does next: the general agent's decision with the model's questions to the
// user, or the rounds of FrostAgent's engine.
#include <algorithm>
#include <utility>

#include "agent/general_agent.hpp"
#include "agent/state.hpp"
#include "run/session.hpp"
#include "schema/pattern.hpp"

namespace millrace::run {
namespace {

using json::Tree;

std::optional<bool> regex_found(std::string_view pattern, std::string_view text) {
  const auto compiled = schema::Pattern::compile(pattern, schema::Syntax::script);
  return compiled ? compiled.value().found_in(text) : std::nullopt;
}

}  // namespace

// A question of the model's comes when nothing else of its turn is left to be done.
Tree AgentSession::decide(Tree& state, const Tree& context) {
  const std::string_view phase = context["phase"].string();
  if (plan_->rounds) return agent::decide_round(state, context, *plan_->rounds);
  if (plan_->tools.find(ask_user_name) == nullptr ||
      agent::status_of(state) == agent::Status::interrupted) {
    return decide_turn(state, context);
  }
  Tree rest = context;
  if (phase == "llm_result") {
    Tree& payload = rest.at("payload");
    std::erase_if(payload.at("toolsCalling").items(),
                  [this](const Tree& call) { return asks_user(call); });
    const bool requests =
        payload["toolsCalling"].items().size() != context["payload"]["toolsCalling"].items().size();
    const bool is_all =
        payload["toolsCalling"].items().empty() && payload["vendorCalls"].items().empty();
    if (requests && is_all) {
      decide_turn(state, context);
      return pending_input(state);
    }
  }
  Tree decided = decide_turn(state, rest);
  const std::string_view type = decided["type"].string();
  if (phase == "llm_result" || (type != "call_llm" && type != "finish")) return decided;
  Tree question = pending_input(state);
  return question.is_null() ? decided : question;
}

bool AgentSession::asks_user(const Tree& call) const {
  return call["apiName"].string() == ask_user_name &&
         plan_->tools.check(ask_user_name, call["arguments"].string()).ok();
}

// The first call of the last turn that asks the user and has no answer, as an instruction.
Tree AgentSession::pending_input(const Tree& state) const {
  const auto& state_messages = state["messages"].items();
  const auto turn =
      std::find_if(state_messages.rbegin(), state_messages.rend(), [](const Tree& state_message) {
        return state_message["role"].string() == "assistant" &&
               !state_message["tool_calls"].items().empty();
      });
  if (turn == state_messages.rend()) return {};
  for (const Tree& made : (*turn)["tool_calls"].items()) {
    const Tree call = agent::chat_tool_call(made);
    const std::string_view id = call["id"].string();
    const bool answered = std::any_of(
        turn.base(), state_messages.end(),
        [id](const Tree& state_message) { return state_message["tool_call_id"].string() == id; });
    if (answered || !asks_user(call)) continue;
    auto read = Tree::parse(call["arguments"].string());
    if (!read) continue;
    Tree instruction = std::move(read).value();
    const bool selects = !instruction["options"].items().empty();
    for (Tree& option : instruction.at("options").items()) {
      if (option["label"].is_null()) option.set("label", option["value"]);
    }
    instruction.set("type", selects ? "request_human_select" : "request_human_prompt");
    instruction.set("metadata", Tree::object()).set("toolCallId", id);
    return instruction;
  }
  return {};
}

// The general agent's decision; what the model made up is answered, not asked about.
Tree AgentSession::decide_turn(Tree& state, const Tree& context) {
  if (context["phase"].string() == "llm_result") {
    for (const Tree& call : context["payload"]["toolsCalling"].items()) {
      const std::string_view name = call["identifier"].string();
      const std::string_view api = call["apiName"].string();
      const bool known = plan_->tools.find(name) != nullptr || plan_->tools.find(api) != nullptr ||
                         client_names_.contains(name);
      if (!known) state.at("toolManifestMap").set(name, free_manifest(name));
    }
  }
  if (plan_->max_turns > 0 && state["modelTurns"].integer_or(0) >= plan_->max_turns) {
    state.set("forceFinish", Tree::flag(true));
  }
  Tree config = Tree::object();
  if (!plan_->compression.is_null()) config.set("compressionConfig", plan_->compression);
  config.set("tellsWindow", Tree::flag(true));
  if (!state["modelRuntimeConfig"].is_null()) {
    config.set("modelRuntimeConfig", state["modelRuntimeConfig"]);
  }
  Tree decided = agent::decide(state, context, config, Tree::object(), regex_found,
                               long_ ? &long_->tokens : nullptr);
  Tree* found = decided.find("instructions");
  if (found == nullptr) return {};
  Tree instructions = std::move(*found);
  // The tools themselves are the plan's; a last answer loses the mark.
  if (instructions["type"].string() == "call_llm") {
    instructions.at("payload").set("tools", Tree::flag(true));
  }
  return instructions;
}

}  // namespace millrace::run
