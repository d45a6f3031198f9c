// The recorded runs of a server: the agent that they have, who owns them, and their upkeep.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "encoder/recorded_ag_ui.hpp"
#include "http/server.hpp"
#include "run/durable/run_requests.hpp"
#include "run/durable/run_upkeep.hpp"
#include "run/input.hpp"

namespace millrace::api {

struct RecordingOptions {
  std::shared_ptr<store::Writer> writer;
  std::string owner;        // of the runs of this process
  bool stops_left = false;  // runs whose last reader goes away, where they do not want otherwise
  std::int64_t approval_ms = run::usual_approval_ms;  // how long the user has for an answer
  run::LeftLimits left = {};
  store::SweepPolicy retention = {};
  // Called with what keeps runs from being taken over, on the engine thread; may be empty.
  run::RunRegistry::OnError on_error = {};
  // Called with what is lost and why, as a sentence each, on the engine thread; may be empty.
  std::function<void(const std::string& what, std::string_view why)> on_loss = {};
};

// Thread: engine thread, but for open(), which comes before the first request.
// Lifetime: outlives the server whose routes have its requests.
class ServedRuns {
 public:
  explicit ServedRuns(os::EventLoop& loop);
  ~ServedRuns();
  ServedRuns(const ServedRuns&) = delete;
  ServedRuns& operator=(const ServedRuns&) = delete;

  // Runs are recorded from now on.
  // Lifetime: what `services` refers to until close().
  void open(const model::DriverServices& services, const RecordingOptions& options);
  // The agent of the runs to come, and of those that another process left.
  // Thread: any.
  void set_agent(std::shared_ptr<const run::AgentPlan> plan, std::string version);
  // Lets go of all runs; readers that come are refused.
  void close();
  [[nodiscard]] bool is_open() const { return requests_ != nullptr; }
  // Nullptr where no runs are recorded, and after close().
  [[nodiscard]] const std::shared_ptr<run::RunRequests>& requests() const { return requests_; }
  [[nodiscard]] const std::shared_ptr<run::RunRegistry>& registry() const { return registry_; }

 private:
  class NoHost;

  os::EventLoop& loop_;
  std::unique_ptr<NoHost> host_;
  std::shared_ptr<run::RunRegistry> registry_;
  std::shared_ptr<run::RunRequests> requests_;
  std::shared_ptr<run::RunUpkeep> upkeep_;
  bool stops_left_ = false;
  std::int64_t approval_ms_ = run::usual_approval_ms;
};

}  // namespace millrace::api
