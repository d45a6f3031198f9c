// Tools that are called from outside: everything below /api/v1/tools.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "api/tool_invocations.hpp"

namespace millrace::api {

std::vector<ApiRoute> tool_routes(const ApiContextPtr& context,
                                  const std::shared_ptr<ToolInvocations>& invocations);

// Those of `tools` ([{type: "function", function: {name, ...}}]) and then of `agents` (the same)
// that the exposure names.
json::Tree exposed_tools(const json::Tree& tools, const json::Tree& agents,
                         const ToolExposure& exposure);

// The error of a call that took longer than this.
std::string late_text(std::chrono::milliseconds limit);

}  // namespace millrace::api
