// The options of createRuntime() that limit how many runs are at work or begin.
#pragma once

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "run/durable/run_registry.hpp"

namespace millrace::app {

// Shape: a number, or {"total"?, "perPrincipal"?, "perProviderKey"?: number, "names"?: {[name]:
// number}}.
// Errors: invalid_option.
Result<void> read_concurrency(run::StartRules& rules, const json::Tree& value);

// Shape: a rate, or {"total"?, "perPrincipal"?, "perProviderKey"?: rate, "names"?: {[name]: rate}};
// a rate is {"starts": number, "perMs"?: number}.
// Errors: invalid_option.
Result<void> read_rate(run::StartRules& rules, const json::Tree& value);

}  // namespace millrace::app
