// What `millrace serve` holds: private to the files of the server.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "api/routes.hpp"
#include "app/agent_server.hpp"
#include "app/mcp_servers.hpp"
#include "app/store_control.hpp"
#include "http/server.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"
#include "os/event_loop.hpp"
#include "run/plan.hpp"

namespace millrace::app {

struct AgentServer::State {
  AgentServerOptions options;
  model::ProviderConfig provider;
  std::string model;
  tool::Registry own_tools;  // of the engine
  std::shared_ptr<const run::AgentPlan> plan;
  os::EventLoop loop;
  os::BlockingPool pool{loop, tool::pool_threads, tool::pool_places};
  api::Routes routes{loop, pool};
  std::unique_ptr<net::Client> client;
  std::unique_ptr<McpServers> mcp;
  std::unique_ptr<http::Server> demo;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<StoreControl> control;  // where runs are recorded
  std::uint16_t port = 0;
  bool is_running = false;  // the engine thread
  std::mutex stopping;
  std::atomic<bool> hurried = false;
  std::mutex mcp_ending;  // its end on one thread, its status asked for on another

  Result<void> open();
  Result<void> open_demo();
  Result<void> open_provider();
  [[nodiscard]] Result<api::Served> read_served() const;
  Result<void> open_storage();
  Result<void> open_agent();
  [[nodiscard]] Result<std::shared_ptr<const run::AgentPlan>> make_plan() const;
  void on_mcp();
  void close_mcp();
  void close_routes();
};

}  // namespace millrace::app
