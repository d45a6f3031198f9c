// Calls of tools that do not run: aborted with the run, or not allowed.
#include <string>

#include "agent/approval/approvals.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"
#include "agent/vendor_calls.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

// What a blocked call leaves beside its text; without a `reason` where the instruction names none.
// Source: LobeHub 2026-07.
Tree blocked_state(const Tree& payload) {
  Tree state = Tree::object();
  state.set("type", "blocked");
  if (payload["blockedReason"].is_string()) state.set("reason", payload["blockedReason"]);
  return state;
}

}  // namespace

// Writes one result for every call; gives the input of the next phase.
Tree StepMachine::resolve_tools(const Tree& payload, std::string_view status,
                                std::string_view reason, std::string_view content) {
  Tree results = Tree::array();
  std::string parent(payload["parentMessageId"].string());
  for (const Tree& raw : payload["toolsCalling"].items()) {
    const Tree call = chat_tool_call(raw);
    const std::string_view id = call["id"].string();
    Tree* state_message = find_tool_message(state_, id);
    if (state_message == nullptr) {
      Tree made = Tree::object();
      const Tree& existing = payload["existingToolMessageIds"][id];
      made.set("id", existing.is_string() ? std::string(existing.string()) : new_result_id(call));
      made.set("role", "tool");
      made.set("tool_call_id", call["id"]);
      if (!payload["parentMessageId"].is_null()) {
        made.set("parentId", payload["parentMessageId"]);
      }
      made.set("plugin", call);
      state_message = &state_.at("messages").push(std::move(made));
    }
    state_message->set("content", content);
    if (is_vendor_call(state_, call)) state_message->set("error", content);
    state_message->at("pluginIntervention").set("status", status);
    if (status == "rejected") state_message->at("pluginIntervention").set("rejectedReason", reason);
    parent = (*state_message)["id"].string();
    Tree data = Tree::object();
    data.set("content", content);
    data.set("error", reason);
    data.set("executionTime", Tree::integer(0));
    data.set("success", Tree::flag(false));
    if (status == "rejected") {
      data.set("state", blocked_state(payload));
      state_message->set("pluginState", data["state"]);
    }
    report(CallEnd{std::string(call["id"].string()), data, data["error"], Tree()});
    Tree event = typed("tool_result");
    event.set("id", call["id"]);
    event.set("result", data);
    emit(std::move(event));
    Tree entry = Tree::object();
    entry.set("toolCall", call);
    entry.set("toolCallId", call["id"]);
    entry.set("data", std::move(data));
    entry.set("isSuccess", Tree::flag(false));
    entry.set("executionTime", Tree::integer(0));
    results.push(std::move(entry));
  }
  Tree next = Tree::object();
  if (!parent.empty()) next.set("parentMessageId", parent);
  next.set("toolCount", Tree::integer(static_cast<std::int64_t>(results.items().size())));
  next.set("toolResults", std::move(results));
  return next;
}

void StepMachine::resolve_aborted_tools(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  const std::string reason(payload["reason"].is_string() ? payload["reason"].string()
                                                         : "user_aborted");
  resolve_tools(payload, "aborted", reason, "The call was aborted by the user.");
  state_.erase("pendingToolsCalling");
  end_run_with("user_aborted", "The run was stopped while calls of tools were open");
  finish_instruction();
}

void StepMachine::resolve_blocked_tools(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  const std::string reason(payload["blockedReason"].is_string() ? payload["blockedReason"].string()
                                                                : "blocked_by_security_privacy");
  const std::string content(payload["blockedContent"].is_string()
                                ? payload["blockedContent"].string()
                                : "This call is not allowed here and was not executed.");
  Tree next = resolve_tools(payload, "rejected", reason, content);
  if (!payload["unresolvedToolNames"].is_null()) {
    constexpr std::string_view rounds = "unresolvedToolFeedbackRounds";
    state_.set(rounds, Tree::integer(state_[rounds].integer_or(0) + 1));
  }
  if (!is_blocked(status_of(state_))) set_status(state_, Status::running);
  // Results of tools that ran in the same step come first.
  if (next_context_["payload"]["toolResults"].is_array()) {
    Tree all = next_context_["payload"]["toolResults"];
    for (Tree& entry : next.at("toolResults").items()) all.push(std::move(entry));
    next.set("toolCount", Tree::integer(static_cast<std::int64_t>(all.items().size())));
    next.set("toolResults", std::move(all));
  }
  next_context_ = context_of("tools_batch_result", std::move(next));
  finish_instruction();
}

}  // namespace millrace::agent
