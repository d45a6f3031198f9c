// Model turns of a step.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "agent/allowed_tools.hpp"
#include "agent/approval/approvals.hpp"
#include "agent/approval/vendor_approvals.hpp"
#include "agent/history.hpp"
#include "agent/provider_rows.hpp"
#include "agent/repaired_calls.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"
#include "agent/tokens.hpp"
#include "agent/tool_names.hpp"
#include "base/error_classes.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

constexpr std::string_view wrap_up =
    "The limit of steps is reached and no tool can be used any more. Answer now with what is "
    "known, "
    "and say what is left open.";

// A call of nothing can be neither run nor shown to a person.
void drop_nameless(Tree& result) {
  auto& calls = result.at("tool_calls").items();
  const auto is_nameless = [](const Tree& call) {
    const Tree& function = call["function"];
    if (function.is_object()) return function["name"].string().empty();
    return call["apiName"].string().empty() && call["name"].string().empty();
  };
  calls.erase(std::remove_if(calls.begin(), calls.end(), is_nameless), calls.end());
}

constexpr std::string_view repairs_member = "repairedArguments";

// The name of a step for people: in the events of its model's turn, and in the metadata, where
// hooks of the host find that of the newest turn which has one.
// Source: LobeHub 2026-07.
constexpr std::string_view label_member = "stepLabel";
constexpr std::string_view newest_label_member = "_stepLabel";

void set_label(Tree& to, const Tree& label) {
  if (!label.string().empty()) to.set(label_member, label);
}

void keep_label(Tree& state, const Tree& label) {
  if (label.string().empty()) return;
  Tree& metadata = state.at("metadata");
  if (metadata.is_object() || metadata.is_null()) metadata.set(newest_label_member, label);
}

using Ids = std::unordered_set<std::string_view>;

// Those of these ids that have a result in the newest turn that knows them, as find_tool_message()
// sees each.
// Lifetime: of the state's rows.
Ids answered_ids(const Tree& state, Ids wanted) {
  Ids answered;
  const auto drop_calls = [&](const Tree& turn) {
    for (const Tree* list : {&turn["tools"], &turn["tool_calls"]}) {
      for (const Tree& call : list->items()) wanted.erase(call["id"].string());
    }
  };
  const auto& state_messages = state["messages"].items();
  for (auto state_message = state_messages.rbegin();
       state_message != state_messages.rend() && !wanted.empty(); ++state_message) {
    if (is_role(*state_message, "tool")) {
      const Tree& named = (*state_message)["tool_call_id"].is_null()
                              ? (*state_message)["plugin"]["id"]
                              : (*state_message)["tool_call_id"];
      if (wanted.erase(named.string()) > 0) answered.insert(named.string());
    }
    drop_calls(*state_message);
    for (const Tree& turn : (*state_message)["children"].items()) drop_calls(turn);
  }
  return answered;
}

// A call without an id, or with one that was used before, could not be distinguished from another.
void give_ids(Tree& result, const Tree& state, IdSource& ids) {
  const auto& calls = std::as_const(result)["tool_calls"].items();
  if (calls.empty()) return;
  Ids wanted;
  for (const Tree& call : calls) wanted.insert(call["id"].string());
  const Ids answered = answered_ids(state, std::move(wanted));
  std::set<std::string> seen;
  for (Tree& call : result.at("tool_calls").items()) {
    const std::string id(call["id"].string());
    if (!id.empty() && seen.insert(id).second && !answered.contains(id)) continue;
    call.set("id", "call_" + ids.next_id());
  }
}

// The class of a failure that may pass, else "": that of LobeHub's classes, or whatever its source
// calls passing.
std::string passing_class(const Tree& error) {
  static constexpr std::array passing{ErrorType::RateLimitExceeded,
                                      ErrorType::ProviderServiceUnavailable,
                                      ErrorType::ProviderNetworkError};
  const std::string_view named = error["errorType"].string();
  if (error["retry"].is_true()) return std::string(named.empty() ? "ProviderBizError" : named);
  const auto type = error_type_of(named);
  const bool is_passing = type && std::find(passing.begin(), passing.end(), *type) != passing.end();
  return is_passing ? std::string(named) : std::string();
}

std::int64_t model_wait_ms(std::int64_t retry) {
  constexpr std::int64_t first = 1000;
  constexpr std::int64_t longest = 30'000;
  constexpr std::int64_t doublings = 5;
  return std::min(first << std::min(retry - 1, doublings), longest);
}

Tree retry_data(std::int64_t retry, std::int64_t wait_ms, std::string_view type, int retries) {
  Tree data = Tree::object();
  data.set("attempt", Tree::integer(retry));
  data.set("delayMs", Tree::integer(wait_ms));
  data.set("errorType", type);
  data.set("kind", "retry");
  data.set("maxAttempts", Tree::integer(retries + 1));
  return data;
}

Error no_model() {
  return make_error(Errc::model_runtime_missing,
                    "Model Runtime is required to call a model (LLM provider is required): give "
                    "the agent a modelRuntime.");
}

}  // namespace

void StepMachine::call_llm(const Tree& instruction) {
  if (over_limit_before("llm")) return finish_instruction();
  if (!options_.model) return fail_step(error_tree(no_model()));
  Tree payload = instruction["payload"].is_object() ? instruction["payload"] : Tree::object();
  fill_call(payload);
  if (state_["forceFinish"].truthy()) {
    payload.erase("tools");
    payload.erase("tool_choice");
    Tree state_message = Tree::object();
    state_message.set("role", "user");
    state_message.set("content", wrap_up);
    Tree* messages = payload.find("messages");
    (messages != nullptr ? *messages : payload.set("messages", state_["messages"]))
        .push(std::move(state_message));
  }
  if (options_.history && payload["messages"].is_array()) {
    Tree state_messages = options_.state_messages != nullptr
                              ? options_.state_messages->take(payload["messages"], ids_)
                              : provider_messages(payload["messages"], ids_);
    payload.set("messages", with_system_role(std::move(state_messages)));
  }
  const auto& state_messages = payload["messages"].items();
  // Agents of createAgent and Engines may be asked with instructions alone.
  if (!options_.lean && !state_messages.empty() &&
      std::all_of(state_messages.begin(), state_messages.end(), is_prompt)) {
    return fail_step(
        error_tree(make_error(Errc::invalid_messages,
                              "The messages of call_llm are only system messages; add a message "
                              "of the user.")));
  }
  set_status(state_, Status::running);
  Tree event = typed("llm_start");
  if (!options_.lean) event.set("payload", payload);
  set_label(event, instruction[label_member]);
  emit(std::move(event));
  answer_ = Tree::object();
  answer_.set("content", "");
  answer_.set("tool_calls", Tree::array());
  answering_ = Tree::object();
  for (const std::string_view member :
       {"assistantMessageId", "parentMessageId", "model", "provider"}) {
    if (!payload[member].is_null()) answering_.set(member, payload[member]);
  }
  set_label(answering_, instruction[label_member]);
  Tree action = Tree::object();
  action.set("payload", std::move(payload));
  const std::int64_t started = now_ms_;
  request_model(std::move(action), [this, started](const Tree&) {
    finish_llm(std::exchange(answering_, Tree()), started);
  });
}

// Asks the model, and again when it fails in passing before anything of its answer came.
void StepMachine::request_model(Tree action, const Then& then, const Else& otherwise) {
  has_answer_ = false;
  const std::int64_t retry = action["retry"].integer_or(0) + 1;
  Tree again = retry <= options_.model_retries ? action : Tree();
  const auto fail = [this, retry, again = std::move(again), then, otherwise](Tree error) {
    const std::string type = passing_class(error);
    for (const std::string_view read : {"retry", "errorType"}) error.erase(read);
    if (again.is_null() || has_answer_ || type.empty()) {
      return otherwise ? otherwise(std::move(error)) : fail_step(std::move(error));
    }
    const std::int64_t wait_ms = model_wait_ms(retry);
    report_retry(retry_data(retry, wait_ms, type, options_.model_retries));
    Tree next = again;
    next.set("waitMs", Tree::integer(wait_ms));
    next.set("retry", Tree::integer(retry));
    request_model(std::move(next), then, otherwise);
  };
  request(ActionKind::model, std::move(action), then, fail);
}

// The run's own prompt comes first, where the conversation has none.
Tree StepMachine::with_system_role(Tree messages) const {
  const std::string_view prompt = state_["systemRole"].string();
  const auto& given = std::as_const(messages).items();
  if (prompt.empty() || std::any_of(given.begin(), given.end(), is_prompt)) return messages;
  Tree state_message = Tree::object();
  state_message.set("role", "system");
  state_message.set("content", prompt);
  auto& state_messages = messages.items();
  state_messages.insert(state_messages.begin(), std::move(state_message));
  return messages;
}

// Of the agent's modelRuntimeConfig, or else of the state's.
const Tree& StepMachine::model_setting(std::string_view member) const {
  const Tree& own = options_.model_config[member];
  return own.is_null() ? state_["modelRuntimeConfig"][member] : own;
}

// What an instruction leaves open is the agent's or the run's.
void StepMachine::fill_call(Tree& payload) {
  for (const std::string_view member : {"model", "provider"}) {
    const Tree& configured = model_setting(member);
    if (payload[member].is_null() && !configured.is_null()) payload.set(member, configured);
  }
  if (payload["tools"].is_null() && !tools_of(state_).items().empty()) {
    payload.set("tools", tools_of(state_));
  }
  if (const Tree& allowed = payload["allowedToolNames"]; !allowed.is_null()) {
    Tree tools = allowed_tools(allowed, payload["tools"]);
    if (tools.items().empty()) {
      payload.erase("tools");
    } else {
      payload.set("tools", std::move(tools));
    }
  }
  const Tree& placeholder = state_["pendingAssistantMessageId"];
  const bool fresh = payload["createAssistantMessage"].truthy();
  if (placeholder.is_string() && !fresh && payload["assistantMessageId"].is_null()) {
    payload.set("assistantMessageId", placeholder);
  }
  state_.erase("pendingAssistantMessageId");
}

// Writes the assistant's row, or fills the one that was made for the answer.
Tree StepMachine::write_answer(const Tree& payload, const Tree& result) {
  const Tree& given =
      result["messageId"].is_string() ? result["messageId"] : payload["assistantMessageId"];
  auto& messages = state_.at("messages").items();
  auto found = messages.end();
  if (given.is_string()) {
    found = std::find_if(messages.begin(), messages.end(), [&](const Tree& message) {
      return message["id"].string() == given.string();
    });
  }
  Tree made = Tree::object();
  mark_group(made);
  Tree& state_message = found == messages.end() ? made : *found;
  state_message.set("id", given.is_string() ? std::string(given.string()) : new_id());
  state_message.set("role", "assistant");
  state_message.set("content", result["content"]);
  if (!payload["parentMessageId"].is_null())
    state_message.set("parentId", payload["parentMessageId"]);
  if (!result["tool_calls"].items().empty()) state_message.set("tool_calls", result["tool_calls"]);
  for (const std::string_view member : {"reasoning", "usage", "turn", "grounding", "images"}) {
    if (!result[member].is_null()) state_message.set(member, result[member]);
  }
  state_message.fit();
  Tree id = state_message["id"];
  if (found == messages.end()) messages.push_back(std::move(made));
  return id;
}

// A row of a group's conversation names the group.
void StepMachine::mark_group(Tree& state_message) const {
  const Tree& group = state_["metadata"]["groupId"];
  if (group.is_string()) state_message.set("groupId", group);
}

// What the model wrote before it was stopped; calls that it began would have no results.
void StepMachine::keep_partial_answer() {
  const Tree call = std::exchange(answering_, Tree());
  const Tree received = std::exchange(answer_, Tree());
  if (!options_.history || !call.is_object() || received["content"].string().empty()) return;
  Tree partial = Tree::object();
  for (const std::string_view member : {"content", "messageId"}) {
    if (!received[member].is_null()) partial.set(member, received[member]);
  }
  const Tree id = write_answer(call, partial);
  for (Tree& state_message : state_.at("messages").items()) {
    if (state_message["id"] == id)
      state_message.at("metadata").set("interruptedMidStream", Tree::flag(true));
  }
}

// What has a form of its own, such as FrostAgent's engine, reads arguments itself.
void StepMachine::repair_arguments(Tree& result) {
  if (options_.raw_arguments) return;
  Tree repairs = Tree::array();
  for (const RepairedCall& call : repair_calls(result, tools_of(state_))) {
    report(CallRepair{describe(call)});
    Tree repair = Tree::object();
    repair.set("id", call.id);
    repair.set("what", call.what);
    repairs.push(std::move(repair));
  }
  if (!options_.lean && !repairs.items().empty()) result.set(repairs_member, std::move(repairs));
}

void StepMachine::finish_llm(const Tree& payload, std::int64_t started) {
  Tree result = std::move(answer_);
  // For the books alone.
  Tree attempts = result["attempts"];
  result.erase("attempts");
  // The loop of a lean host gives the model a result of such a call.
  if (!options_.lean) drop_nameless(result);
  repair_arguments(result);
  guard_repeats(result);
  give_ids(result, state_, ids_);
  Tree for_vendor = vendor_calls(result["turn"]);
  give_vendor_ids(for_vendor, result, state_, ids_);
  Tree event = typed("llm_result");
  if (!options_.lean) event.set("result", result);
  set_label(event, payload[label_member]);
  emit(std::move(event));
  keep_label(state_, payload[label_member]);
  result.erase(repairs_member);
  if (state_["forceFinish"].truthy()) result.set("tool_calls", Tree::array());
  // Before a limit can end the run: its report counts this answer as well.
  if (options_.lean && result["finishReason"].string() != "abort") {
    state_.set("modelTurns", Tree::integer(state_["modelTurns"].integer_or(0) + 1));
  }

  Tree parent = payload["assistantMessageId"];
  if (options_.history) {
    parent = write_answer(payload, result);
  } else if (parent.is_null()) {
    parent = payload["parentMessageId"];
  }

  Tree calls = Tree::array();
  for (const Tree& call : result["tool_calls"].items()) {
    Tree made = chat_tool_call(call);
    calls.push(options_.lean ? std::move(made) : resolved_call(state_, std::move(made)));
  }
  const bool has_calls = !calls.items().empty();
  Tree next = Tree::object();
  next.set("hasToolCalls", Tree::flag(has_calls));
  next.set("hasToolsCalling", Tree::flag(has_calls));
  if (!parent.is_null()) next.set("parentMessageId", parent);
  next.set("result", result);
  next.set("toolCalls", result["tool_calls"]);
  next.set("toolsCalling", std::move(calls));
  const bool may_ask = !state_["forceFinish"].truthy() && !for_vendor.items().empty();
  if (may_ask) next.set("vendorCalls", std::move(for_vendor));
  const bool aborted = result["finishReason"].string() == "abort";
  if (aborted) next.set("reason", "The model's answer was aborted");
  next_context_ = context_of(aborted ? "human_abort" : "llm_result", std::move(next));

  for (const std::string_view member : {"model", "provider"}) {
    if (!payload[member].is_null()) result.set(member, payload[member]);
  }
  if (attempts.is_array()) result.set("attempts", std::move(attempts));
  account("llm", std::move(result), now_ms_ - started, [this] {
    over_cost_limit();
    finish_instruction();
  });
}

}  // namespace millrace::agent
