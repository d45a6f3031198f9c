// How a step begins: what the host has, the state and the context, what is checked before the agent
// is asked.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "agent/approval/approvals.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/first_context.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

std::vector<std::string> texts_of(const Tree& list) {
  std::vector<std::string> texts;
  for (const Tree& item : list.items()) texts.emplace_back(item.string());
  return texts;
}

// How often calls are tried again: by what their tools ask for, where the declared effect makes it
// safe.
std::function<int(const Tree&)> retries_of(const Tree& declared) {
  return [declared](const Tree& action) -> int {
    static constexpr std::array<std::string_view, 3> safe{"read", "idempotent", "keyed"};
    const std::string_view effect = action["effect"].string();
    if (std::find(safe.begin(), safe.end(), effect) == safe.end()) return 0;
    const std::int64_t wanted = declared[action["name"].string()].integer_or(usual_retries);
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 0, most_retries));
  };
}

}  // namespace

StepOptions StepOptions::from(const Tree& options) {
  StepOptions made;
  made.custom = texts_of(options["custom"]);
  made.tools = std::make_shared<const std::vector<std::string>>(texts_of(options["tools"]));
  made.retries = retries_of(options["retries"]);
  made.model_retries = static_cast<int>(std::clamp<std::int64_t>(
      options["modelRetries"].integer_or(usual_model_retries), 0, most_model_retries));
  made.model = options["model"].truthy();
  made.usage = options["usage"].truthy();
  made.cost = options["cost"].truthy();
  made.sub_agents = options["subAgents"].truthy();
  made.history = options["history"].truthy();
  made.operation_id = options["operationId"].string();
  made.model_config = options["modelRuntimeConfig"];
  made.approval_ms = std::max<std::int64_t>(0, options["approvalTimeoutMs"].integer_or(0));
  made.concurrency = static_cast<std::size_t>(
      std::clamp<std::int64_t>(options["concurrency"].integer_or(8), 1, 256));
  return made;
}

void StepMachine::begin(Tree state, Tree context, std::int64_t now_ms) {
  now_ms_ = now_ms;
  // A lean state was read whole before: by its first step here, or by who took it back from a host.
  if (options_.lean && state["stepCount"].integer_or(0) > 0) {
    state_ = std::move(state);
  } else {
    auto loaded = load_state(std::move(state), Tree(), now_ms);
    if (!loaded) {
      state_ = initial_state(Tree::object(), now_ms);
      step_count_ = 1;
      return fail_step(error_tree(loaded.error()));
    }
    state_ = std::move(loaded).value();
  }
  step_count_ = state_["stepCount"].integer_or(0);
  if (!context.is_object() && is_still_waiting()) return;
  ++step_count_;
  state_.set("stepCount", Tree::integer(step_count_));
  state_.set("lastModified", iso_time(now_ms));
  if (context.is_object()) {
    context_ = std::move(context);
  } else {
    FirstContext first = first_context(state_);
    context_ = context_of(first.phase, std::move(first.payload));
  }
  const bool approved = context_["phase"].string() == "human_approved_tool";
  if (!options_.lean || approved) checkpoint_ = state_;
  if (!pass_gate()) return;
  if (approved) {
    Tree call = approved_call();
    if (!done_) take_instructions(std::move(call));
    return;
  }
  if (options_.decide) return take_instructions(options_.decide(state_, context_));
  Tree payload = Tree::object();
  payload.set("context", context_);
  payload.set("state", state_);
  request(ActionKind::runner, std::move(payload),
          [this](Tree answer) { take_answer(std::move(answer)); });
}

// A run that waits is not walked past what is open: a step without a context gives it back
// as it is, and its interrupts are reported again.
bool StepMachine::is_still_waiting() {
  const Status status = status_of(state_);
  if (status != Status::waiting_for_human && status != Status::waiting_for_async_tool) return false;
  Tree events = waiting_events_of(state_);
  if (events.items().empty()) return false;
  for (Tree& event : events.items()) emit(std::move(event));
  const Tree modified = state_["lastModified"];
  settle(Tree());
  news_.outcome->state.set("lastModified", modified);
  return true;
}

// Instructions; with `@rows` those that the runner wrote to the end of its copy of the history, as
// agents of runtimes do that write no rows; with `@metadata` what it made of that of its copy,
// where such agents keep their place.
void StepMachine::take_answer(Tree answer) {
  const bool has_metadata = !answer["@metadata"].is_null();
  if (!answer["@rows"].is_array() && !has_metadata) return take_instructions(std::move(answer));
  Tree state = state_;
  if (has_metadata) state.set("metadata", std::move(answer.at("@metadata")));
  for (Tree& state_message : answer.at("@rows").items())
    state.at("messages").push(std::move(state_message));
  auto loaded = load_state(std::move(state), Tree(), now_ms_);
  if (!loaded) return fail_step(error_tree(loaded.error()));
  state_ = std::move(loaded).value();
  take_instructions(std::move(answer.at("instructions")));
}

void StepMachine::begin_instruction(Tree instruction, Tree state, Tree context,
                                    std::int64_t now_ms) {
  now_ms_ = now_ms;
  counts_ = false;
  auto loaded = load_state(std::move(state), Tree(), now_ms);
  if (!loaded) return fail_step(error_tree(loaded.error()));
  state_ = std::move(loaded).value();
  step_count_ = state_["stepCount"].integer_or(0);
  checkpoint_ = state_;
  context_ = std::move(context);
  options_.custom.clear();
  take_instructions(std::move(instruction));
}

// What is checked before the agent is asked; false when the step is over.
bool StepMachine::pass_gate() {
  end_human_wait(state_, now_ms_);
  if (state_["limits"]["maxDurationMs"].is_number() && state_["limits"]["startedAtMs"].is_null()) {
    state_.at("limits").set("startedAtMs", Tree::integer(now_ms_));
  }
  const std::int64_t most = state_["maxSteps"].integer_or(0);
  if (most > 0 && step_count_ > most) {
    // An agent that goes on for ever is ended after all.
    if (state_["forceFinish"].truthy() && step_count_ > 2 * most + 20) {
      stop_run("max_steps_exceeded", "Maximum steps exceeded: " + std::to_string(most));
      settle(Tree());
      return false;
    }
    state_.set("forceFinish", Tree::flag(true));
  }
  return true;
}

// The rows that asked about these calls are answered by them: each gets the result of its call, and
// nobody is asked about it again.
void StepMachine::answer_messages(Tree& payload) {
  const bool single = !payload["approvedToolCalls"].is_array();
  const auto answer = [&](const Tree& call) {
    const std::string_view id = call["id"].string();
    Tree* state_message = find_tool_message(state_, id);
    if (state_message == nullptr ||
        (*state_message)["pluginIntervention"]["status"].string() != "pending")
      return;
    state_message->at("pluginIntervention").set("status", "approved");
    if (!(*state_message)["id"].is_string()) return;
    if (!single) {
      payload.at("existingToolMessageIds").set(id, (*state_message)["id"]);
    } else if (!payload["skipCreateToolMessage"].truthy()) {
      payload.set("parentMessageId", (*state_message)["id"]);
      payload.set("skipCreateToolMessage", Tree::flag(true));
    }
  };
  if (single) return answer(chat_tool_call(payload["approvedToolCall"]));
  for (const Tree& call : payload["approvedToolCalls"].items()) answer(chat_tool_call(call));
}

// The instruction that follows an approval; ends the step when the approval is not valid.
Tree StepMachine::approved_call() {
  const Tree payload = context_["payload"];
  const auto checked = take_approval(state_, payload, now_ms_);
  if (!checked) {
    // The question stays open: nothing ran.
    state_ = checkpoint_;
    step_count_ -= 1;
    emit_error(error_tree(checked.error()));
    settle(Tree());
    return {};
  }
  Tree instruction = Tree::object();
  Tree made = payload;
  answer_messages(made);
  if (payload["approvedToolCalls"].is_array()) {
    instruction.set("type", "call_tools_batch");
    made.erase("approvedToolCalls");
    made.set("toolsCalling", payload["approvedToolCalls"]);
  } else {
    instruction.set("type", "call_tool");
    made.erase("approvedToolCall");
    made.set("toolCalling", chat_tool_call(payload["approvedToolCall"]));
  }
  instruction.set("payload", std::move(made));
  return instruction;
}

}  // namespace millrace::agent
