// What a server tells about itself: GET /health, /livez, /readyz, and the probes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "api/api_zone.hpp"
#include "base/json_tree.hpp"

namespace millrace::api {

// What GET /health answers.
json::Tree health_json(std::string_view version);

// `zone` counts who was turned away.
std::vector<ApiRoute> system_routes(const ApiContextPtr& context,
                                    const std::shared_ptr<ApiZone>& zone);

}  // namespace millrace::api
