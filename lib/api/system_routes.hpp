// What a server tells about itself: GET /health, /livez, /readyz, and the probes.
#pragma once

#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "base/json_tree.hpp"

namespace millrace::api {

// What GET /health answers.
json::Tree health_json(std::string_view version);

std::vector<ApiRoute> system_routes(const ApiContextPtr& context);

}  // namespace millrace::api
