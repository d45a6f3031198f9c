// Jobs as JSON, with what the store alone knows of them.
#pragma once

#include <functional>
#include <vector>

#include "api/api_answers.hpp"
#include "api/jobs.hpp"

namespace millrace::api {

// Shape: contract B.3.
json::Tree snapshot_of(const Job& job);
// The same with `queue_position`: how many jobs of the conversation come before one that waits;
// null for others.
void show_job(const JobsPtr& jobs, const JobPtr& job, std::function<void(json::Tree)> shown);
// All of them, in their order.
void show_jobs(const JobsPtr& jobs, const std::vector<JobPtr>& found,
               std::function<void(json::Tree::Items)> shown);
void send_job(const JobsPtr& jobs, const JobPtr& job, const ResponsePtr& response, int status);

// Answers with 503 before the connection goes where the server stops before a job has ended: its
// client comes again by the id. Shape: {"error", "code", name: id}.
void answer_at_stop(const ResponsePtr& response, std::string_view name, const std::string& id,
                    const std::string& route);

}  // namespace millrace::api
