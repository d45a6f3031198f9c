// What comes into a conversation from outside: the user's answer to a prompt or a choice, and the
// result of a call that ran elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/result_ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// How the run goes on.
struct NextPhase {
  std::string_view phase;
  json::Tree payload;
};

// Takes the user's answer to the pending prompt or choice. Nothing: the run still waits for others.
// Errors: approval_answered, invalid_argument.
Result<std::optional<NextPhase>> take_response(json::Tree& state, const json::Tree& value,
                                               std::int64_t now_ms, const StateMessageIds& ids);

// Takes `result` of a decision for the call `toolCallId`, and adds the event for readers. Nothing:
// as above.
// Errors: approval_mismatch, approval_answered.
Result<std::optional<NextPhase>> take_tool_result(json::Tree& state, const json::Tree& decision,
                                                  json::Tree& events, std::int64_t now_ms,
                                                  const StateMessageIds& ids);

}  // namespace millrace::agent
