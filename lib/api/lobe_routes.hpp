// The routes of LobeHub's server: operations, their streams, and what people decide about them.
// Source: LobeHub's agent API (2026).
#pragma once

#include <memory>
#include <vector>

#include "api/api_context.hpp"
#include "api/webhooks.hpp"

namespace millrace::api {

// Lifetime: what the hooks of operations become is sent by `webhooks`.
std::vector<ApiRoute> lobe_routes(const ApiContextPtr& context,
                                  const std::shared_ptr<Webhooks>& webhooks);

}  // namespace millrace::api
