// The schema of a tool as a state has it, and whether the arguments of a call follow it.
#pragma once

#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// Nothing is wrong where the state has no schema of the tool, or one that is none. `call` is a
// chat_tool_call.
// Errors: invalid_argument (names what is wrong), schema_too_complex.
Result<void> check_call_arguments(const json::Tree& state, const json::Tree& call,
                                  std::string_view arguments);

}  // namespace millrace::agent
