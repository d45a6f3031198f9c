// Threads and artifacts for chat front ends that keep them on a server: /api/storage, as OpenUI's
// restStorage calls it.
// Source: @openuidev/react-headless 0.9.13.
#pragma once

#include <vector>

#include "api/api_context.hpp"

namespace millrace::api {

std::vector<ApiRoute> storage_routes(const ApiContextPtr& context);

}  // namespace millrace::api
