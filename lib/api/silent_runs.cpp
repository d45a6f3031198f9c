#include "api/silent_runs.hpp"

#include <utility>

namespace millrace::api {

void SilentRuns::look_at(const std::vector<std::string>& runs, const std::string& principal,
                         std::function<void()> ready) {
  std::vector<store::RunId> unknown;
  for (const std::string& text : runs) {
    const auto run = runs_.contains(text) ? std::nullopt : store::RunId::parse(text);
    if (run) unknown.push_back(*run);
  }
  jobs_->find_all(unknown, principal,
                  [this, ready = std::move(ready)](const std::vector<JobPtr>& found) {
                    learn(found);
                    ready();
                  });
}

bool SilentRuns::shows(const std::string& run) const {
  const auto found = runs_.find(run);
  return found != runs_.end() && found->second;
}

void SilentRuns::learn(const std::vector<JobPtr>& jobs) {
  for (const JobPtr& job : jobs) {
    if (!job->is_over() || job->is_cut()) continue;
    const std::string run = job->run().text();
    if (!runs_.try_emplace(run, !job->log().history_block().is_null()).second) continue;
    order_.push_back(run);
    if (order_.size() <= most_runs) continue;
    runs_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace millrace::api
