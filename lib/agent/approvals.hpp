// Questions to a person: which are open, and what an answer changes. An approval counts for the
// exact arguments that were shown, once.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// Writes down that `calls` wait for approval, and until when; 0 is without end.
// Units: milliseconds since 1970.
void open_approvals(json::Tree& state, const json::Tree& calls, std::int64_t expires_at_ms = 0);

// Checks the calls of a `human_approved_tool` payload and takes them off the list of open ones.
// Errors: approval_mismatch, approval_answered.
Result<void> take_approval(json::Tree& state, const json::Tree& payload, std::int64_t now_ms);

// Applies a person's decision: gives `{newState, events, nextContext?}`; the run goes on with a
// step when there is a next context.
// Errors: approval_mismatch, approval_answered, invalid_argument.
Result<json::Tree> apply_decision(json::Tree state, const json::Tree& decision, std::int64_t now_ms,
                                  IdSource& ids);

// The row that holds the result of a call, or nothing.
json::Tree* find_tool_row(json::Tree& state, std::string_view call_id);

}  // namespace millrace::agent
