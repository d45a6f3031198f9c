// The messages of a conversation: /api/v1/chat/history.
#pragma once

#include <vector>

#include "api/jobs.hpp"
#include "api/silent_runs.hpp"

namespace millrace::api {

std::vector<ApiRoute> history_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                     const SilentRunsPtr& silent);

}  // namespace millrace::api
