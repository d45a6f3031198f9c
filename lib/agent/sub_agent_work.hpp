// Work by sub-agents that the result of a tool asks for.
#pragma once

#include <optional>

#include "base/json_tree.hpp"

namespace millrace::agent {

// The instruction for what the payload of a tool_result phase asks for, if it does.
std::optional<json::Tree> sub_agent_work(const json::Tree& payload);

}  // namespace millrace::agent
