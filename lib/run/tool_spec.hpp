// A tool of an agent as its plan describes it.
#pragma once

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "tool/spec.hpp"

namespace millrace::run {

// Reads an entry of "tools" of a plan (run/plan.hpp).
// Errors: invalid_option.
Result<tool::Spec> read_tool_spec(const json::Tree& given);

}  // namespace millrace::run
