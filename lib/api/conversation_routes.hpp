// Conversations: everything below /api/v1/chat/conversations.
#pragma once

#include <vector>

#include "api/jobs.hpp"
#include "api/silent_runs.hpp"

namespace millrace::api {

std::vector<ApiRoute> conversation_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                          const SilentRunsPtr& silent);

}  // namespace millrace::api
