// What an agent's version is known by where the user gives none: its model, instructions and tools.
#pragma once

#include <string>
#include <string_view>

namespace millrace::run {

// Shape: that of read_agent_plan. Keys and addresses of providers do not count. "" for what is no
// JSON.
std::string plan_hash(std::string_view plan_json);

}  // namespace millrace::run
