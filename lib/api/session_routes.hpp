// How a page logs in and out.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "api/api_zone.hpp"

namespace millrace::api {

// POST begins a session with a key, or with the name and the password of one; GET shows whether
// there is one; DELETE ends it.
std::vector<ApiRoute> session_routes(const ApiContextPtr& context,
                                     const std::shared_ptr<ApiZone>& zone);

}  // namespace millrace::api
