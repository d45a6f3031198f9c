// The MCP servers of an agent server: their connections, and the tools that they have at the
// moment.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "os/timer.hpp"
#include "tool/mcp/client.hpp"
#include "tool/mcp/remote_tools.hpp"
#include "tool/tool.hpp"

namespace millrace::app {

struct McpServerOptions {
  mcp::ClientOptions client;
  mcp::ToolRules rules;  // with the server's name
};

// A server that cannot be reached holds up no other, and is tried again.
// Thread: engine thread, but for status_json and the constructor; destroy there or after the loop
// has stopped.
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
  // Shape: [{"name", "state": "starting" | "ready" | "failed", "tools": number, "error"?: {"code",
  // "message"}}], sorted as given.
  // Thread: any.
  [[nodiscard]] std::string status_json() const;

 private:
  class Connection;

  bool is_patient_ = true;
  os::Timer patience_timer_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::function<void()> changed_;
};

}  // namespace millrace::app
