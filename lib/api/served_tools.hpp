// The tools of a served agent for callers from outside: the engine runs them, no host is asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_context.hpp"
#include "base/json_tree.hpp"
#include "run/durable/run_log.hpp"
#include "run/durable/run_registry.hpp"
#include "run/plan.hpp"
#include "run/tool_job.hpp"

namespace millrace::api {

// Calls of these tools wait for no approval: a caller that may use the routes has decided.
// Thread: engine thread, but for set_plan() before the first request.
// Lifetime: outlives the registry whose runs it works for.
class ServedTools final : public run::RunHost {
 public:
  explicit ServedTools(os::EventLoop& loop) : loop_(loop) {}

  // The tools of the calls to come. One that asks the user is not among them.
  void set_plan(std::shared_ptr<const run::AgentPlan> plan) { plan_ = std::move(plan); }
  // How long a recorded call may take; 0 is no limit.
  void limit(std::chrono::milliseconds limit) { limit_ = limit; }
  // Recorded calls are runs of this registry from now on.
  void serve(const std::shared_ptr<run::RunRegistry>& registry, std::string version);
  void close();

  // Shape: [{"type": "function", "function": {"name", "description", "parameters"}}].
  [[nodiscard]] json::Tree list() const;
  // The names of those that MCP servers run.
  [[nodiscard]] json::Tree remote_names() const;
  // Makes a call, whose caller keeps its time limit; the reply has the text of its result.
  // Shape: {"id", "name", "args", "context"}.
  // Errors: tool_not_found, invalid_argument, tool_failed.
  void invoke(const json::Tree& call, ApiContext::Reply reply);
  // The call has no reply any more.
  void cancel(std::string_view id);

  void request_host(const store::RunId& run, run::HostWork work, std::uint64_t id,
                    std::string json) override;
  void withdraw(const store::RunId& run, std::uint64_t id) override;
  void notify(const store::RunId& run, std::uint64_t id, std::string json) override;

 private:
  using Limit = std::chrono::milliseconds;
  using Ended = std::function<void(const Result<std::string>& text)>;
  using Progress = std::function<void(std::string_view json)>;

  // Calls back later, never from within.
  void begin(const std::string& id, const json::Tree& call, Limit limit, Ended ended,
             Progress progress);
  void settle(const store::RunId& run, std::uint64_t id, std::string json);

  os::EventLoop& loop_;
  std::shared_ptr<const run::AgentPlan> plan_;
  Limit limit_{0};
  std::weak_ptr<run::RunRegistry> registry_;
  std::map<std::string, std::shared_ptr<run::ToolJob>, std::less<>> open_;  // by their ids
};

}  // namespace millrace::api
