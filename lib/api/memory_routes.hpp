// Facts that are remembered by hand: /api/v1/memory.
#pragma once

#include <vector>

#include "api/api_context.hpp"

namespace millrace::api {

std::vector<ApiRoute> memory_routes(const ApiContextPtr& context);

// How many facts a principal has.
Result<std::size_t> count_facts(store::StorageBackend& backend, const std::string& principal);

}  // namespace millrace::api
