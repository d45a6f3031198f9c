// A tool of an agent as its plan describes it.
#pragma once

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "tool/spec.hpp"

namespace millrace::run {

// Reads an entry of "tools" of a plan (run/plan.hpp).
// Errors: invalid_option.
Result<tool::Spec> read_tool_spec(const json::Tree& given);

// Reads "tools" of the payload of a plan: objects of the provider's own, an array.
// Errors: invalid_option, also for a function.
Result<json::Tree> read_provider_tools(const json::Tree& given);

}  // namespace millrace::run
