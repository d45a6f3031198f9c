// Chats and jobs: POST /api/v1/chat, and everything below /api/v1/chat/jobs.
#pragma once

#include <vector>

#include "api/turns.hpp"

namespace millrace::api {

std::vector<ApiRoute> job_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                 const TurnsPtr& turns);

}  // namespace millrace::api
