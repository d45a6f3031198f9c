// The routes of services that this server does not have: each answers as clients know it of a
// server without that service.
#pragma once

#include <vector>

#include "api/api_context.hpp"

namespace millrace::api {

std::vector<ApiRoute> absent_routes();

}  // namespace millrace::api
