// Single messages of conversations: read, edited, removed, answered again, and the beginning of
// another conversation.
#pragma once

#include <vector>

#include "api/api_context.hpp"
#include "api/jobs.hpp"
#include "api/turns.hpp"

namespace millrace::api {

std::vector<ApiRoute> message_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                     const TurnsPtr& turns);

}  // namespace millrace::api
