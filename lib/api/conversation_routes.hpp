// Conversations: everything below /api/v1/chat/conversations.
#pragma once

#include <vector>

#include "api/jobs.hpp"

namespace millrace::api {

std::vector<ApiRoute> conversation_routes(const ApiContextPtr& context, const JobsPtr& jobs);

}  // namespace millrace::api
