// The MCP servers of an agent server: their connections, and the tools that they have at the
// moment.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "os/timer.hpp"
#include "tool/mcp/client.hpp"
#include "tool/mcp/remote_tools.hpp"
#include "tool/tool.hpp"

namespace millrace::app {

struct McpServerOptions {
  mcp::ClientOptions client;
  mcp::ToolRules rules;  // with the server's name
  bool host_authorizes =
      false;  // who answers its refusals by authorize() or reject_authorization()
};

// A server that cannot be reached holds up no other, and is tried again.
// Thread: engine thread, but for status_json, authorize, reject_authorization and the constructor;
// destroy there or after the loop has stopped.
// Lifetime: loop and HTTP client outlive it.
class McpServers {
 public:
  // `changed` is called on the engine thread when there are other tools, or a server is settled.
  McpServers(os::EventLoop& loop, net::Client& http, std::vector<McpServerOptions> servers,
             std::function<void()> changed);
  ~McpServers();
  McpServers(const McpServers&) = delete;
  McpServers& operator=(const McpServers&) = delete;

  void start();
  // Whether each server has told its tools, failed to, or had ten seconds for it.
  [[nodiscard]] bool settled() const;
  [[nodiscard]] std::vector<std::shared_ptr<tool::Tool>> tools() const;
  // Ends sessions and programs in good order, then calls back.
  void close(const std::function<void()>& done);
  // Shape: [{"name", "state": "starting" | "unauthorized" | "ready" | "failed", "tools": number,
  // "error"?: {"code", "message"}, "refusal"?: {"number", "status", "challenge"}}], sorted as
  // given. A refusal waits for an answer.
  // Thread: any.
  [[nodiscard]] std::string status_json() const;
  // Answers the refusal that the server waits with; without one nothing happens.
  // Thread: any.
  void authorize(std::string_view server, std::vector<mcp::HttpField> headers);
  void reject_authorization(std::string_view server, std::string message);

 private:
  class Connection;
  [[nodiscard]] std::shared_ptr<Connection> find(std::string_view server) const;

  bool is_patient_ = true;
  os::EventLoop& loop_;
  os::Timer grace_timer_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::function<void()> changed_;
};

}  // namespace millrace::app
