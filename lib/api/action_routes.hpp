// What a job waits for, whole: the user decides about exactly this.
#pragma once

#include <vector>

#include "api/api_context.hpp"
#include "api/jobs.hpp"

namespace millrace::api {

std::vector<ApiRoute> action_routes(const ApiContextPtr& context, const JobsPtr& jobs);

}  // namespace millrace::api
