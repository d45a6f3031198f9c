// Search in a principal's conversations, and whole conversations as files.
#pragma once

#include <vector>

#include "api/api_context.hpp"

namespace millrace::api {

std::vector<ApiRoute> search_routes(const ApiContextPtr& context);

}  // namespace millrace::api
