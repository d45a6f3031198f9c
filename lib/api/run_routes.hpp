// The routes of recorded runs: POST /agent where runs are recorded, and everything below
// /agent/runs.
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
};

// Gives a callback that sends the text of a run with this status, or why there is none.
std::function<void(Result<std::string>)> send_run(
    const std::shared_ptr<http::ResponseStream>& response, int status);

// The answer to an approval in the body of a request.
// Errors: invalid_json, invalid_body.
Result<json::Tree> read_decision(std::string_view body);

// Thread: engine thread, but for open(), which comes before the first request.
// Lifetime: outlives the server that has its routes.
class RunRoutes {
 public:
  using Response = std::shared_ptr<http::ResponseStream>;

  explicit RunRoutes(os::EventLoop& loop);
  ~RunRoutes();
  RunRoutes(const RunRoutes&) = delete;
  RunRoutes& operator=(const RunRoutes&) = delete;

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
  [[nodiscard]] const std::shared_ptr<run::RunRequests>& requests() const { return all_requests_; }
  [[nodiscard]] const std::shared_ptr<run::RunRegistry>& registry() const { return registry_; }

  // POST /agent/connect, GET, DELETE /agent/runs/<id>, GET /agent/runs, POST /agent/runs/<id>/fork,
  // POST /agent/runs/<id>/approvals/<approval>.
  [[nodiscard]] std::vector<http::Route> routes();
  // Answers a POST /agent whose body was read.
  // Errors: invalid_argument for a wrong `onDisconnect` in the address.
  void answer(const http::Request& request, run::AgentInput input, const Response& response);
  // Whose runs a request is about.
  [[nodiscard]] std::string principal_of(const http::Request& request) const;

 private:
  class NoHost;
  void on_connect(const http::Request& request, const Response& response);
  void on_list(const http::Request& request, const Response& response);
  void on_read(const http::Request& request, const Response& response);
  void on_stop(const http::Request& request, const Response& response);
  void on_fork(const http::Request& request, const Response& response);
  void on_message(const http::Request& request, const Response& response);
  void on_decision(const http::Request& request, const Response& response);
  void read(const run::FoundRun& found, const Response& response, encoder::RecordedOptions options);

  os::EventLoop& loop_;
  std::unique_ptr<NoHost> host_;
  std::shared_ptr<run::RunRegistry> registry_;
  std::shared_ptr<run::RunRequests> all_requests_;
  // Without calls of tools, which have routes and a scope of their own.
  std::shared_ptr<run::RunRequests> requests_;
  std::shared_ptr<run::RunUpkeep> upkeep_;
  std::string principal_ = "local";
  bool stops_left_ = false;
  std::int64_t approval_ms_ = run::usual_approval_ms;
};

}  // namespace millrace::api
