// What `millrace serve` holds: private to the files of the server.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/agent_plan.hpp"
#include "app/agent_question.hpp"
#include "app/agent_server.hpp"
#include "app/chat_run.hpp"
#include "app/kept_runs.hpp"
#include "app/large_bodies.hpp"
#include "app/mcp_servers.hpp"
#include "app/random_chance.hpp"
#include "http/server.hpp"
#include "model/call.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"

namespace millrace::app {

struct AgentServer::State {
  AgentServerOptions options;
  model::ProviderConfig provider;
  std::string model;
  model::CallChain chain;                                      // of `provider`
  std::map<std::string, model::CallChain, std::less<>> chats;  // by provider
  tool::Registry own_tools;                                    // of the engine
  std::shared_ptr<const AgentPlan> plan;
  KeptRuns kept;
  std::vector<std::function<void()>> held;  // requests that wait for the MCP servers
  os::RandomIds ids;
  RandomChance chance;
  model::TokenStore tokens;
  model::CircuitStore circuits;
  os::EventLoop loop;
  os::BlockingPool pool{loop, tool::pool_threads, tool::pool_places};
  LargeBodies bodies{pool};
  std::unique_ptr<net::Client> client;
  std::unique_ptr<McpServers> mcp;
  std::unique_ptr<http::Server> demo;
  std::unique_ptr<http::Server> server;
  std::uint16_t port = 0;
  std::mutex stopping;
  std::atomic<bool> hurried = false;
  std::mutex mcp_ending;  // its end on one thread, its status asked for on another

  Result<void> open();
  Result<void> open_demo();
  Result<void> open_provider();
  Result<void> open_chats();
  Result<void> open_agent();
  [[nodiscard]] Result<std::shared_ptr<const AgentPlan>> make_plan() const;
  void on_mcp();
  // Requests to the agent wait until it is known which tools it has.
  template <class Work>
  void when_settled(Work work) {
    if (!mcp || mcp->settled()) return work();
    held.push_back(std::move(work));
  }
  void close_mcp();

  // What becomes of a request (agent_server_routes.cpp).
  http::Router router();
  [[nodiscard]] Asking asking() const;
  void on_agent(const std::shared_ptr<http::Request>& request,
                std::shared_ptr<http::ResponseStream> response);
  void answer(AgentQuestion question, std::shared_ptr<http::ResponseStream> response);
  void on_chat(http::Request&& request, std::shared_ptr<http::ResponseStream> response);
  void answer(const model::CallChain& asked, ChatQuestion question,
              std::shared_ptr<http::ResponseStream> response);
  void on_capabilities(const std::shared_ptr<http::ResponseStream>& response) const;
  void on_health(const std::shared_ptr<http::ResponseStream>& response) const;
};

}  // namespace millrace::app
