// Questions to a person that are open. An approval counts for the exact arguments that were shown,
// once. What an answer changes is in agent/decision.hpp.
#pragma once

#include <cstdint>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// Writes down that `calls` wait for approval, and until when; 0 is without end.
// Units: milliseconds since 1970.
void open_approvals(json::Tree& state, const json::Tree& calls, std::int64_t expires_at_ms = 0);

// Checks the calls of a `human_approved_tool` payload and takes them off the list of open ones.
// Errors: approval_mismatch, approval_answered.
Result<void> take_approval(json::Tree& state, const json::Tree& payload, std::int64_t now_ms);

// The row that holds the result of a call, or nothing.
json::Tree* find_tool_message(json::Tree& state, std::string_view call_id);

}  // namespace millrace::agent
