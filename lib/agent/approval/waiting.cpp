#include "agent/approval/waiting.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "agent/approval/approval_list.hpp"
#include "agent/approval/approvals.hpp"
#include "agent/state.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr Status for_human = Status::waiting_for_human;
constexpr Status for_result = Status::waiting_for_async_tool;

struct Deferred {
  std::string_view type;  // of the instruction
  std::string_view member;
};
constexpr std::array<Deferred, 3> deferred{{
    {"request_human_approve", "deferredHumanApproval"},
    {"request_human_prompt", "deferredHumanPrompt"},
    {"request_human_select", "deferredHumanSelect"},
}};

// What the state knows of one call; a call that was approved and is open still was begun.
Status status_of_call(Tree& state, const Tree& call, Status unknown) {
  const std::string_view id = call["id"].string();
  if (const Tree* approval = approval_list::find_in(state, "pendingApprovals", "toolCallId", id)) {
    const bool begun =
        (*approval)["status"].string() == "approved" && !(*approval)["ready"].is_true();
    return begun ? for_result : for_human;
  }
  const Tree* row = find_tool_message(state, id);
  const bool requested =
      row != nullptr && (*row)["pluginIntervention"]["status"].string() == "pending";
  return requested ? for_human : unknown;
}

Tree waiting_event(std::string_view type, const Tree& state, const Tree& question) {
  Tree event = typed(type);
  for (const auto& [name, value] : question.members()) event.set(name, value);
  event.set("operationId", state["operationId"]);
  return event;
}

void add_pending(Tree& events, Tree calls, std::string_view reason) {
  if (calls.items().empty()) return;
  Tree event = typed("tool_pending");
  if (!reason.empty()) event.set("reason", reason);
  event.set("toolCalls", std::move(calls));
  events.push(std::move(event));
}

}  // namespace

bool runs_at_client(const Tree& state, const Tree& call) {
  const std::string_view identifier = call["identifier"].string();
  return call["executor"].string() == "client" || call["source"].string() == "client" ||
         state["toolSourceMap"][identifier].string() == "client" ||
         state["toolExecutorMap"][identifier].string() == "client" ||
         state["operationToolSet"]["sourceMap"][identifier].string() == "client" ||
         state["operationToolSet"]["executorMap"][identifier].string() == "client";
}

std::optional<Status> waiting_status(Tree& state, Status unknown) {
  if (state["pendingHumanPrompt"].is_object() || state["pendingHumanSelect"].is_object()) {
    return for_human;
  }
  const Tree calls = state["pendingToolsCalling"];
  if (calls.items().empty()) return std::nullopt;
  const bool any = std::any_of(calls.items().begin(), calls.items().end(), [&](const Tree& call) {
    return status_of_call(state, call, unknown) == for_human;
  });
  return any ? for_human : for_result;
}

std::optional<Status> resumed_status(Tree& state) {
  if (!state["humanWaitingSince"].is_null()) return waiting_status(state, for_human);
  const std::optional<Status> status = waiting_status(state, for_result);
  const Tree calls = state["pendingToolsCalling"];
  const bool runs = std::any_of(calls.items().begin(), calls.items().end(), [&](const Tree& call) {
    return status_of_call(state, call, for_result) == for_result;
  });
  return runs ? for_result : status;
}

bool keep_waiting(Tree& state, Status unknown, std::int64_t now_ms) {
  const std::optional<Status> status = waiting_status(state, unknown);
  if (!status) return false;
  // The time that a person takes begins once.
  const bool turns = status == for_human && status_of(state) != for_human;
  if (turns) state.set("humanWaitingSince", Tree::integer(now_ms));
  set_status(state, *status);
  return true;
}

bool waits_for_result(Tree& state, const Tree& call) {
  const Status status = status_of(state);
  return (status == for_human || status == for_result) &&
         status_of_call(state, call, status) == for_result;
}

std::string_view deferred_member(std::string_view instruction_type) {
  const auto* row = std::find_if(deferred.begin(), deferred.end(),
                                 [&](const Deferred& one) { return one.type == instruction_type; });
  return row == deferred.end() ? std::string_view() : row->member;
}

bool has_deferred(const Tree& state) {
  return std::any_of(deferred.begin(), deferred.end(),
                     [&](const Deferred& one) { return state[one.member].is_object(); });
}

void forget_deferred(Tree& state) {
  for (const Deferred& one : deferred) state.erase(one.member);
}

Tree waiting_events_of(Tree& state) {
  Tree approvals = Tree::array();
  Tree at_client = Tree::array();
  Tree deferred = Tree::array();
  const Tree calls = state["pendingToolsCalling"];
  for (const Tree& call : calls.items()) {
    const bool requested = !waits_for_result(state, call);
    (requested ? approvals : runs_at_client(state, call) ? at_client : deferred).push(call);
  }
  Tree events = Tree::array();
  if (!approvals.items().empty()) {
    Tree question = Tree::object();
    question.set("pendingToolsCalling", approvals);
    events.push(waiting_event("human_approve_required", state, question));
  }
  add_pending(events, std::move(approvals), {});
  add_pending(events, std::move(at_client), "client_tool_execution");
  add_pending(events, std::move(deferred), "async_tool");
  for (const auto& [type, member] : {std::pair<std::string_view, std::string_view>(
                                         "human_prompt_required", "pendingHumanPrompt"),
                                     {"human_select_required", "pendingHumanSelect"}}) {
    if (state[member].is_object()) events.push(waiting_event(type, state, state[member]));
  }
  return events;
}

}  // namespace millrace::agent
