// Operations as LobeHub's own clients call them: procedures of tRPC under /trpc/lambda.
#pragma once

#include <vector>

#include "api/api_context.hpp"

namespace millrace::api {

// Each procedure is done by one of `routes`, those of lobe_routes and lobe_chat_routes, with its
// scope.
std::vector<ApiRoute> lobe_trpc_routes(std::vector<ApiRoute> routes);

}  // namespace millrace::api
