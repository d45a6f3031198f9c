#include "agent/interrupts.hpp"

#include <algorithm>
#include <utility>

#include "agent/approval/vendor_approvals.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/repaired_calls.hpp"
#include "agent/state.hpp"
#include "agent/state_messages.hpp"
#include "agent/superseded.hpp"
#include "agent/vendor_calls.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::string_view approval_schema =
    R"({"type":"object","properties":{"approved":{"type":"boolean"},)"
    R"("editedArgs":{"type":"object"},"reason":{"type":"string"}},"required":["approved"]})";
// What the provider runs cannot be edited.
constexpr std::string_view vendor_schema =
    R"({"type":"object","properties":{"approved":{"type":"boolean"},)"
    R"("reason":{"type":"string"}},"required":["approved"]})";
constexpr std::string_view answer_schema =
    R"({"type":"object","properties":{"value":{}},"required":["value"]})";

std::string hash_in(const Tree& state, std::string_view call_id) {
  const Tree* approval = find_by(state["pendingApprovals"], "toolCallId", call_id);
  return approval == nullptr ? std::string() : std::string((*approval)["hash"].string());
}

// A question that is still open keeps its entry; one that is asked anew has its time anew.
Tree pending_for(const Tree& before, std::string_view key, const std::string& hash,
                 std::int64_t expires_ms, IdSource& ids) {
  const Tree* known = find_by(before, "key", key);
  if (known != nullptr && (*known)["hash"].string() == hash) {
    Tree entry = *known;
    if (entry["expiresAtMs"].is_null()) entry.set("expiresAtMs", Tree::integer(expires_ms));
    return entry;
  }
  Tree made = Tree::object();
  made.set("id", ids.next_id());
  made.set("key", key);
  made.set("hash", hash);
  made.set("expiresAtMs", Tree::integer(expires_ms));
  return made;
}

Tree interrupt_for(const Tree& pending, std::string_view reason, std::string_view message,
                   std::string_view schema) {
  Tree interrupt = Tree::object();
  interrupt.set("id", pending["id"]);
  interrupt.set("reason", reason);
  interrupt.set("message", message);
  interrupt.set("responseSchema", Tree::parse(schema).value());
  interrupt.set("expiresAt", agent::iso_time(pending["expiresAtMs"].integer_or(0)));
  return interrupt;
}

Tree approval_interrupt(const Tree& pending, const Tree& call) {
  const std::string name(call["apiName"].string());
  const bool is_mcp = is_mcp_call(call);
  std::string question = "May the tool " + name + " run?";
  if (is_mcp) question = mcp_question(call);
  if (has_pending_checks(call)) question.append(" ").append(texts_of_checks(call));
  const Tree& before = pending[supersedes_member];
  if (before.is_string()) question.append(" It has changed since the user was asked.");
  // Its provider knows the call as it was shown.
  const bool is_fixed = is_mcp || has_pending_checks(call);
  Tree interrupt =
      interrupt_for(pending, "tool_call", question, is_fixed ? vendor_schema : approval_schema);
  interrupt.set("toolCallId", call["id"]);
  Tree& metadata = interrupt.at("metadata");
  metadata.set("toolName", name);
  if (is_mcp) metadata.set("serverLabel", call["identifier"]);
  auto arguments = read_arguments(call["arguments"].string());
  metadata.set("arguments", arguments ? std::move(arguments).value() : call["arguments"]);
  metadata.set("hash", pending["hash"]);
  if (before.is_string()) metadata.set(supersedes_member, before);
  if (has_pending_checks(call)) {
    metadata.set(pending_checks_member, call[pending_checks_member]);
  }
  return interrupt;
}

Tree input_interrupt(const Tree& pending, const Tree& requested) {
  Tree interrupt =
      interrupt_for(pending, "input_required", requested["prompt"].string(), answer_schema);
  for (const std::string_view member : {"options", "multi", "metadata"}) {
    if (!requested[member].is_null()) interrupt.at("metadata").set(member, requested[member]);
  }
  const Tree& call = requested["metadata"]["toolCallId"];
  if (call.is_string()) interrupt.set("toolCallId", call);
  return interrupt;
}

}  // namespace

Tree open_interrupts(Tree& state, std::int64_t now_ms, IdSource& ids,
                     std::chrono::milliseconds lifetime) {
  const std::int64_t expires_ms = now_ms + lifetime.count();
  const Tree before = state["openQuestions"];
  Tree all_pending = Tree::array();
  Tree interrupts = Tree::array();
  if (agent::status_of(state) == agent::Status::waiting_for_human) {
    for (const Tree& call : state["pendingToolsCalling"].items()) {
      const std::string_view id = call["id"].string();
      Tree pending = pending_for(before, id, hash_in(state, id), expires_ms, ids);
      interrupts.push(approval_interrupt(pending, call));
      all_pending.push(std::move(pending));
    }
    for (const auto& [key, member] :
         {std::pair<std::string_view, std::string_view>("prompt", "pendingHumanPrompt"),
          {"select", "pendingHumanSelect"}}) {
      if (!state[member].is_object()) continue;
      Tree pending = pending_for(before, key, "", expires_ms, ids);
      interrupts.push(input_interrupt(pending, state[member]));
      all_pending.push(std::move(pending));
    }
  }
  for (const auto& [call_id, run] : state["subAgentRuns"].members()) {
    for (const Tree& interrupt : run["interrupts"].items()) interrupts.push(interrupt);
  }
  if (all_pending.items().empty()) {
    state.erase("openQuestions");
  } else {
    state.set("openQuestions", std::move(all_pending));
  }
  return interrupts;
}

std::string unmatched_sentence(std::string_view interrupt_id) {
  return "No interrupt '" + std::string(interrupt_id) + "' is pending in this thread.";
}

bool must_be_suspended(const Tree& state) {
  const agent::Status status = agent::status_of(state);
  return status == agent::Status::waiting_for_human || has_deferred(state) ||
         !state["subAgentRuns"].members().empty();
}

bool has_client_results(const Tree& state, const Tree& state_messages) {
  if (agent::status_of(state) != agent::Status::waiting_for_async_tool) return false;
  const auto& pending = state["pendingToolsCalling"].items();
  return std::any_of(pending.begin(), pending.end(), [&](const Tree& call) {
    return find_by(state_messages, "tool_call_id", call["id"].string()) != nullptr;
  });
}

bool ends_with_user(const Tree& state_messages) {
  const auto& messages = state_messages.items();
  return !messages.empty() && messages.back()["role"].string() == "user";
}

}  // namespace millrace::agent
