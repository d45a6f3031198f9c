// The messages of a conversation: /api/v1/chat/history.
#pragma once

#include <vector>

#include "api/jobs.hpp"

namespace millrace::api {

std::vector<ApiRoute> history_routes(const ApiContextPtr& context, const JobsPtr& jobs);

}  // namespace millrace::api
