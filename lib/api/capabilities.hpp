// What a served agent says it can do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/plan.hpp"

namespace millrace::api {

// JSON text of AG-UI's AgentCapabilities; 0 steps is no limit.
// Source: AG-UI protocol 1.0, AgentCapabilities.
std::string agent_capabilities(const run::AgentPlan& plan, std::string_view version,
                               std::int64_t max_steps);

// The same of a plain function as an agent: what it does is its own.
std::string function_capabilities(std::string_view version);

// For each model of the plan whose provider has no key, a sentence that says how to give one.
std::vector<std::string> missing_keys(const run::AgentPlan& plan);

}  // namespace millrace::api
