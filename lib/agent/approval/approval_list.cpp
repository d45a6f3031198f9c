#include "agent/approval/approval_list.hpp"

#include <algorithm>

#include "agent/approval/intervention.hpp"
#include "agent/state.hpp"
#include "base/sha256.hpp"

namespace millrace::agent::approval_list {

using json::Tree;

std::string hash_of(const Tree& given) {
  const Tree call = chat_tool_call(given);
  return approval_hash(call["identifier"].string(), call["apiName"].string(),
                       call["arguments"].string());
}

Tree* find_by(Tree& list, std::string_view member, std::string_view value) {
  auto& items = list.items();
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Tree& item) { return item[member].string() == value; });
  return found == items.end() ? nullptr : &*found;
}

Tree* find_in(Tree& state, std::string_view list, std::string_view member, std::string_view value) {
  Tree* found = state.find(list);
  return found == nullptr ? nullptr : find_by(*found, member, value);
}

Error answered(std::string_view id) {
  return make_error(Errc::approval_answered,
                    "The approval of call '" + std::string(id) + "' was already answered.");
}

Error unknown(std::string_view id) {
  return make_error(Errc::approval_mismatch,
                    "No call '" + std::string(id) + "' is waiting for approval.");
}

Result<void> check_time(const Tree& approval, std::string_view id, std::int64_t now_ms) {
  const std::int64_t until = approval["expiresAtMs"].integer_or(0);
  if (until <= 0 || now_ms <= until) return {};
  return make_error(Errc::approval_answered,
                    "The approval of call '" + std::string(id) +
                        "' has expired; the call can only be rejected. Raise approvalTimeoutMs of "
                        "the runtime to wait longer.");
}

Result<void> check_shown(const Tree& approval, const Tree& call) {
  if (equal_in_constant_time(approval["hash"].string(), hash_of(call))) return {};
  return make_error(Errc::approval_mismatch,
                    "The arguments of call '" + std::string(call["id"].string()) +
                        "' differ from those that were shown; approve it with editedArguments.");
}

void drop_pending(Tree& state, std::string_view id) {
  Tree* pending = state.find("pendingToolsCalling");
  if (pending == nullptr) return;
  std::erase_if(pending->items(), [&](const Tree& call) { return call["id"].string() == id; });
  if (Tree* rows = state.find("pendingToolMessageIds")) {
    rows->erase(id);
    if (rows->members().empty()) state.erase("pendingToolMessageIds");
  }
  if (pending->items().empty()) state.erase("pendingToolsCalling");
}

}  // namespace millrace::agent::approval_list
