// The routes of a server, and what their answers are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/access_log.hpp"
#include "api/api_routes.hpp"
#include "api/large_bodies.hpp"
#include "api/model_answers.hpp"
#include "api/model_requests.hpp"
#include "api/request_body.hpp"
#include "api/served_runs.hpp"
#include "api/served_tools.hpp"
#include "http/server.hpp"
#include "model/call/call.hpp"
#include "model/call/call_driver.hpp"
#include "model/call/clock.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "run/plan.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::api {

// The models of a server.
struct Served {
  ServedModel model;
  model::CallChain chain;                                      // of `model`
  std::map<std::string, model::CallChain, std::less<>> chats;  // by provider
  std::string version;
  std::int64_t max_steps = 0;  // of the agent; 0 is no limit
};

// POST /agent, GET /agent/capabilities, /agent/runs, POST /webapi/chat/<provider> and GET /health.
// Thread: engine thread, but for open() and the first set_plan(), which come before the first
// request.
// Lifetime: outlives the server that has its router.
class Routes {
 public:
  Routes(os::EventLoop& loop, os::BlockingPool& pool)
      : loop_(loop), pool_(pool), bodies_(pool), tools_(loop), runs_(loop) {}

  // Lifetime: `client` until close().
  void open(net::Client& client, Served served);
  // Other models, keys and rules for the requests to come.
  void change(Served served, const ApiOptions& api);
  // Before router().
  void observe(std::shared_ptr<AccessLog> log) { log_ = std::move(log); }
  // Records the agent's runs. After open() and before the first set_plan().
  void record_runs(const RecordingOptions& options, ApiOptions api);
  [[nodiscard]] const std::shared_ptr<run::RunRequests>& run_requests() const {
    return runs_.requests();
  }
  // The agent of the requests to come. Requests to the agent wait until its tools are settled.
  void set_plan(std::shared_ptr<const run::AgentPlan> plan, bool settled);
  // What probes show of the agent's skills. Shape: {"list": [{"name"}]}; "" is none.
  void set_skills(std::string json) { skills_ = std::move(json); }
  [[nodiscard]] http::Router router();
  // The address that the probes show.
  void show_address(std::string host, std::uint16_t port) {
    if (api_) api_->add_listener(port, std::move(host));
  }
  // Forgets the requests that wait, and lets go of recorded runs. Thread: engine thread, or any
  // when it has ended.
  void close();

 private:
  using Response = std::shared_ptr<http::ResponseStream>;

  template <class Work>
  void when_settled(Work work) {
    if (settled_) return work();
    held_.push_back(std::move(work));
  }
  [[nodiscard]] model::DriverServices services();
  // Does what the routes would have a host do.
  void do_for_routes(std::string_view kind, const json::Tree& value,
                     const ApiContext::Reply& reply);
  void report_loss(const std::string& what, std::string_view why) const;
  void make_title(const json::Tree& first, const ApiContext::Reply& reply);
  void make_object(ObjectWork work, const ApiContext::Reply& reply);
  void on_agent(const std::shared_ptr<http::Request>& request, Response response);
  void answer(AgentRequest request, Response response);
  void on_chat(http::Request&& request, Response response);
  void answer(const model::CallChain& chain, ChatRequest request, Response response);
  void on_capabilities(const Response& response) const;
  void on_health(const Response& response) const;

  os::EventLoop& loop_;
  os::BlockingPool& pool_;
  LargeBodies bodies_;
  net::Client* client_ = nullptr;
  Served served_;
  std::shared_ptr<const run::AgentPlan> plan_;
  bool settled_ = false;
  run::SuspendedRuns suspended_;
  ServedTools tools_;
  ModelAnswers answers_;
  ServedRuns runs_;
  std::function<void(const std::string& what, std::string_view why)> on_loss_;
  std::shared_ptr<AccessLog> log_;
  std::string skills_;
  std::optional<ApiRoutes> api_;             // where runs are recorded
  std::vector<std::function<void()>> held_;  // requests that wait for the agent's tools
  os::RandomIds ids_;
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
};

}  // namespace millrace::api
