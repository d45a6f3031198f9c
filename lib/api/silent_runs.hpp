// Which runs left something to show without a text: the history counts an answer for each, and so
// does the list of conversations.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/jobs.hpp"

namespace millrace::api {

// Knows it of runs that are over, whose records do not change any more.
// Thread: engine thread.
class SilentRuns {
 public:
  explicit SilentRuns(JobsPtr jobs) : jobs_(std::move(jobs)) {}

  // Looks at those of these runs of which nothing is known.
  // Lifetime: ends after `ready` was called.
  void look_at(const std::vector<std::string>& runs, const std::string& principal,
               std::function<void()> ready);
  // False also for a run that is not over, or not known.
  [[nodiscard]] bool shows(const std::string& run) const;

 private:
  static constexpr std::size_t most_runs = 20'000;

  void learn(const std::vector<JobPtr>& jobs);

  JobsPtr jobs_;
  std::map<std::string, bool> runs_;
  std::deque<std::string> order_;
};

using SilentRunsPtr = std::shared_ptr<SilentRuns>;

}  // namespace millrace::api
