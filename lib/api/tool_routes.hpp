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

// Those of the tools and then of the agents that the exposure names.
// Shape: `all` is { tools, agents?: [{type: "function", function: {name, ...}}], remote?: names of
// the tools that MCP servers run }; the result is a list.
json::Tree exposed_tools(const json::Tree& all, const ToolExposure& exposure);

// The error of a call that took longer than this.
std::string late_text(std::chrono::milliseconds limit);

}  // namespace millrace::api
