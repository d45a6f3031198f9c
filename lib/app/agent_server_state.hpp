// What `millrace serve` holds: private to the files of the server.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/routes.hpp"
#include "app/agent_server.hpp"
#include "app/mcp_servers.hpp"
#include "app/open_stores.hpp"
#include "app/store_control.hpp"
#include "http/server.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"
#include "os/event_loop.hpp"
#include "run/plan.hpp"

namespace millrace::app {

// What the options make of the model and its tools.
struct ServedAgent {
  model::ProviderConfig provider;
  std::string model;
  std::string base_url;            // "" is the provider's own
  tool::Registry own_tools;        // of the engine
  std::vector<std::string> tools;  // of these, the names of those that the agent has
};

// Whether the options choose the demo model.
bool is_demo(const AgentServerOptions& options);
// What the routes get of the options.
Result<api::Served> read_served(const AgentServerOptions& options, const ServedAgent& agent);

struct AgentServer::State {
  AgentServerOptions options;
  ServedAgent agent;
  std::shared_ptr<const run::AgentPlan> plan;
  os::EventLoop loop;
  os::BlockingPool pool{loop, tool::pool_threads, tool::pool_places};
  api::Routes routes{loop, pool};
  std::unique_ptr<net::Client> client;
  std::unique_ptr<McpServers> mcp;
  std::unique_ptr<http::Server> demo;
  std::string demo_url;
  std::shared_ptr<api::AccessLog> log;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<StoreControl> control;  // where runs are recorded
  // Of runs that could not be taken over: those that were reported, and those that are to be.
  std::mutex noting;
  std::set<std::string> noted;
  std::vector<std::string> problems;
  std::uint16_t port = 0;
  bool is_running = false;  // the engine thread
  std::mutex stopping;
  std::atomic<bool> hurried = false;
  std::mutex mcp_ending;  // its end on one thread, its status asked for on another

  // The client of requests, and the engine thread.
  void begin();
  // Sets `agent`.
  Result<api::Served> read_options();
  [[nodiscard]] Result<StoreOptions> store_options() const;
  [[nodiscard]] http::ServerOptions http_options() const;
  Result<void> open();
  // What open() would reject; opens, writes and listens to nothing.
  Result<void> check();
  // Where the options choose the demo model and none listens yet.
  Result<void> open_demo(const AgentServerOptions& wanted);
  Result<ServedAgent> read_agent(const AgentServerOptions& wanted);
  // Engine thread.
  Result<void> change(AgentServerOptions next);
  Result<void> open_storage();
  Result<void> open_agent();
  [[nodiscard]] Result<std::shared_ptr<const run::AgentPlan>> make_plan(
      const AgentServerOptions& wanted, const ServedAgent& from);
  Result<void> add_skills(const std::string& json, tool::Registry& tools,
                          std::vector<std::string>& names, std::string& instructions);
  void renew_plan();
  void note_problem(const std::optional<store::RunId>& run, const Error& error);
  void note_loss(std::string_view what, std::string_view why);
  void note(std::string problem);
  void close_mcp();
  void close_routes();
};

}  // namespace millrace::app
