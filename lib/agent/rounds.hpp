// The deciding half of FrostAgent's engine: rounds of a turn of the model and its tools. Nobody is
// asked before a tool runs, and what became of a call is told in the host's words.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

struct RoundRules {
  std::int64_t most = 5;         // rounds
  std::int64_t most_tokens = 0;  // of a conversation and its tools, by estimate; 0 is no limit
  std::string silent_tool;       // ends the run without an answer; "" when there is none
  std::string silent_result;     // what it gives when it worked
  std::string silent_conflict;   // result of every call of a turn that has it beside others
  std::string unknown_tool;      // result of a call of no tool
  std::string failed_tool;       // comes before what a tool failed with

  // Shape: { "most", "mostTokens"?, "silence"?: { "tool", "result", "conflict" }, "unknownTool",
  // "failedTool" }.
  // Errors: invalid_option.
  static Result<RoundRules> from(const json::Tree& rules);
};

// The instruction that a state and a context lead to; `modelTurns` of the state counts the rounds.
// A run ends as completed, silent, max_iterations or tool_call_repeat_limit.
// Source: FrostAgent's Engine, 0.1.0.
json::Tree decide_round(const json::Tree& state, const json::Tree& context,
                        const RoundRules& rules);

// What the model reads of a call that failed.
std::string reported_failure(const json::Tree& error, const RoundRules& rules);

// Errors: context_window_exceeded.
Result<void> check_room(const json::Tree& messages, const json::Tree& tools,
                        const RoundRules& rules);

}  // namespace millrace::agent
