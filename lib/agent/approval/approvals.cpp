#include "agent/approval/approvals.hpp"

#include <string>
#include <utility>

#include "agent/approval/approval_list.hpp"
#include "agent/approval/intervention.hpp"
#include "agent/approval/vendor_approvals.hpp"
#include "agent/open_calls.hpp"
#include "agent/state.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

Result<void> take_one(Tree& state, const Tree& call, std::int64_t now_ms) {
  Tree* approvals = state.find("pendingApprovals");
  const std::string_view id = call["id"].string();
  if (approvals == nullptr || approvals->items().empty()) return {};
  Tree* approval = approval_list::find_by(*approvals, "toolCallId", id);
  if (approval == nullptr) return approval_list::unknown(id);
  // Its approval is the provider's to use.
  const Tree* open = approval_list::find_in(state, "pendingToolsCalling", "id", id);
  if (open != nullptr && is_mcp_call(*open)) return approval_list::unknown(id);
  const std::string_view status = (*approval)["status"].string();
  if (status != "pending" && !(status == "approved" && (*approval)["ready"].is_true())) {
    return approval_list::answered(id);
  }
  // One that was given in time may be used later.
  if (status == "pending") MILLRACE_TRY(approval_list::check_time(*approval, id, now_ms));
  MILLRACE_TRY(approval_list::check_shown(*approval, call));
  approval->set("status", "approved");
  approval->erase("ready");
  approval_list::drop_pending(state, id);
  return {};
}

}  // namespace

Tree* find_tool_message(Tree& state, std::string_view call_id) {
  Tree* messages = state.find("messages");
  if (messages == nullptr || call_id.empty()) return nullptr;
  auto& items = messages->items();
  for (auto row = items.rbegin(); row != items.rend(); ++row) {
    const Tree& message = std::as_const(*row);
    const Tree& named =
        message["tool_call_id"].is_null() ? message["plugin"]["id"] : message["tool_call_id"];
    if (message["role"].string() == "tool" && named.string() == call_id) return &*row;
    // What is before the turn that calls is of an older one, which used the same id.
    if (shows_call(message, call_id)) return nullptr;
  }
  return nullptr;
}

void open_approvals(Tree& state, const Tree& calls, std::int64_t expires_at_ms) {
  Tree& approvals = state.find("pendingApprovals") != nullptr
                        ? *state.find("pendingApprovals")
                        : state.set("pendingApprovals", Tree::array());
  for (const Tree& call : calls.items()) {
    const std::string_view id = call["id"].string();
    Tree* known = approval_list::find_by(approvals, "toolCallId", id);
    // A row that is asked for again keeps its approval.
    if (known != nullptr && (*known)["status"].string() == "pending") continue;
    Tree made = Tree::object();
    made.set("toolCallId", id);
    made.set("hash", approval_list::hash_of(call));
    made.set("status", "pending");
    if (expires_at_ms > 0) made.set("expiresAtMs", Tree::integer(expires_at_ms));
    if (known != nullptr) {
      *known = std::move(made);
    } else {
      approvals.push(std::move(made));
    }
  }
}

Result<void> take_approval(Tree& state, const Tree& payload, std::int64_t now_ms) {
  if (payload["approvedToolCalls"].is_array()) {
    for (const Tree& call : payload["approvedToolCalls"].items()) {
      MILLRACE_TRY(take_one(state, call, now_ms));
    }
    return {};
  }
  const Tree call = chat_tool_call(payload["approvedToolCall"]);
  MILLRACE_TRY(take_one(state, call, now_ms));
  approval_list::drop_pending(state, call["id"].string());
  if (is_blocked(status_of(state))) set_status(state, Status::running);
  return {};
}

}  // namespace millrace::agent
