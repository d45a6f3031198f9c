// An MCP client as a stream of the host: commands in, items out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "host/host_task.hpp"
#include "tool/mcp/client.hpp"
#include "tool/mcp/remote_calls.hpp"

namespace millrace::host {

// Reads how an MCP server is reached.
// Shape: {"command", "cwd"?: string, "args"?: [string], "env": {name: string}} or {"url": string,
// "headers"?: {name: string}, "transport"?: "http" | "sse" | "auto", and what
// model/provider/route.hpp reads}; "client": object, "capabilities": object, "protocol"?: string,
// "openMs"?, "callMs"?, "connectMs"?, "closeMs"?, "graceMs"?, "messageBytes"?: number;
// "reportsErrors"?: boolean.
// Errors: invalid_json, invalid_option.
Result<mcp::ClientOptions> read_mcp_client(std::string_view json);

// Reads headers of an authorization; what cannot be read is none.
// Shape: {name: value}.
std::vector<mcp::HttpField> read_authorization(std::string_view json);

// Items: {"type": "opened", "info"}, {"type": "settled", "call", "result" | "error", "rpc"?},
// {"type": "progress", "call", "params"}, {"type": "asked", "question", "call", "method",
// "params"},
// {"type": "withdrawn", "question"}, {"type": "notified", "method", "params"}, {"type":
// "wrote", "line"}, {"type": "unauthorized", "status", "challenge"}, {"type": "failed", "error"};
// "closed" ends the stream. Commands (name, id, text, options): call (call, params, {"method",
// "list"?, "timeoutMs"?, "totalMs"?, "progress"?}), cancel (call, reason), notify (-, params,
// method), answer (question, result), refuse (question, message, code), authorize (-, {name:
// value}), unauthorized (-, message), close.
// Thread: engine thread.
class McpStream final : public HostTask, private mcp::ClientHost {
 public:
  McpStream(DrainQueue::StreamId id, HostServices& services, mcp::ClientOptions options);
  ~McpStream() override;

  void start() { client_->start(); }
  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override;
  void cancel() override;
  void silence() override;
  void command(const HostCommand& command) override;

  // For the calls of agents in the engine.
  [[nodiscard]] const std::shared_ptr<mcp::RemoteCalls>& calls() const { return calls_; }

 private:
  void opened(std::string_view info_json) override;
  void settled(mcp::CallId call, mcp::Outcome outcome) override;
  void progressed(mcp::CallId call, std::string_view params_json) override;
  void server_requested(mcp::ServerRequestId server_request, mcp::CallId call,
                        std::string_view method, std::string_view params_json) override;
  void withdrawn(mcp::ServerRequestId server_request) override;
  void notified(std::string_view method, std::string_view params_json) override;
  void wrote(std::string_view line) override;
  void unauthorized(int status, std::string_view challenge) override;
  void failed(Error error) override;
  void closed() override;

  void call(const HostCommand& command);
  void hand_over(std::string item);
  void finish(std::string end);

  DrainQueue::StreamId id_;
  HostServices& services_;
  std::shared_ptr<mcp::Client> client_;
  std::shared_ptr<mcp::RemoteCalls> calls_;
  bool is_over_ = false;
};

}  // namespace millrace::host
