// `millrace serve`: the composition of engine thread, HTTP client, HTTP server and model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_options.hpp"
#include "app/mcp_servers.hpp"
#include "base/result.hpp"

namespace millrace::app {

struct AgentServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8788;  // 0 takes a free port
  std::string model = "demo:demo";
  std::string base_url;  // "" is the provider's own
  std::string api_key;
  // Settings of further providers for the chat route, JSON objects (model/provider/config.hpp).
  std::vector<std::string> providers;
  std::int64_t max_output_tokens = 4096;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::string ca_file;
  std::vector<std::string> extra_ca_files;
  std::string version;
  // The agent: builtin tools by name, who is asked before they run, what the model is told first,
  // and after how many of its turns it has to answer; 0 is no limit.
  std::vector<std::string> tools;
  std::string approval = "risky";
  std::string instructions;
  std::int64_t max_steps = 32;
  std::string skills;  // as set_skills takes them; "" is none
  // Whose tools the agent has, too.
  std::vector<McpServerOptions> mcp;
  // Where runs are recorded: "file:" and a path; "" records none.
  std::string storage;
  std::int64_t open_timeout_ms = 2'000;      // how long to wait for another owner to end
  std::vector<std::string> api_keys;         // what requests are sent with; none: no key is wanted
  std::vector<api::ApiKey> keys;             // the same with names, scopes and limits
  std::string keys_file;                     // further keys (api/api_keys.hpp); "" is none
  std::string access_log;                    // a file, or "-"; "" is none
  std::vector<std::string> trusted_proxies;  // whose X-Forwarded-For counts
  std::vector<std::string> protected_files;  // that built-in tools leave alone: settings and keys
  std::string on_disconnect = "continue";    // or "stop": of a recorded run without readers
  std::int64_t approval_timeout_ms = 604'800'000;  // how long the user has for an answer
  std::int64_t left_timeout_ms = 1'800'000;        // how long such a run may work
  std::string page;                                // the folder of the page at `/`; "" is none
  bool shows_page = true;
  bool has_openapi = true;
  bool makes_titles = false;  // by a request to the model, where it is none of the demo
  std::vector<std::string> webhook_secrets;  // the bytes that callbacks are signed with
  api::ToolExposure exposed;      // which of the agent's tools can be invoked from outside
  std::int64_t left_runs = 1024;  // how many of them there may be
  std::string retention;          // as read_store_options has it; "" is the default
  std::int64_t drain_ms = 5'000;  // how long stop waits for answers that are on their way
};

// Reads the options from a JSON object; unknown members are errors.
// Errors: invalid_json, invalid_option.
Result<AgentServerOptions> read_server_options(std::string_view text);

// Serves POST /agent, GET /agent/capabilities, POST /webapi/chat/<provider> for every provider of
// the table, GET /health and, where runs are recorded, everything below /agent/runs. A demo model
// brings a tool of its own along.
// Thread: any that is not the engine's own.
// Lifetime: its end stops without waiting for answers.
class AgentServer {
 public:
  // Errors: those of model::make_target, read_agent_plan and http::Server::listen.
  static Result<std::unique_ptr<AgentServer>> start(AgentServerOptions options);
  // What start() would reject of the options, without a file that is made, a store that is opened
  // or a port that is taken. That a server beyond loopback has a key is its caller's to check.
  // Errors: as start().
  static Result<void> check(AgentServerOptions options);
  ~AgentServer();

  [[nodiscard]] std::uint16_t port() const;
  // Takes from other options what may change while the server runs, all of it between two requests:
  // models and providers, the agent, keys, hosts, origins, access log, proxies, page, document and
  // the tools that can be invoked.
  // The rest stays as it is. Blocks until it is done.
  // Errors: as start(), and invalid_state while the server stops; nothing has changed then.
  Result<void> change(AgentServerOptions options);
  // What became of the MCP servers so far (McpServers::status_json). Runs wait until each is
  // settled.
  [[nodiscard]] std::string mcp_status() const;
  // What kept runs from being taken over since the last call, each once.
  // Shape: [{"run"?: string, "code", "message", ...}].
  [[nodiscard]] std::string take_problems();
  // Answers the refusal of an MCP server (McpServers::authorize, reject_authorization).
  void authorize_mcp(std::string_view server, std::vector<mcp::HttpField> headers);
  void reject_mcp(std::string_view server, std::string message);
  // The skills of the agent from now on; runs that are on their way keep those that they began
  // with.
  // Shape: {"list": that of tool::make_skills, "instructions": text}; "" is none.
  void set_skills(std::string json);
  // Stops to accept, lets answers end within the drain time of the options, then closes and joins.
  void stop();
  // Lets a stop that is under way wait no longer: answers are told to end.
  void expedite();

 private:
  struct State;
  explicit AgentServer(std::unique_ptr<State> state);
  void stop_within(std::int64_t drain_ms);
  std::unique_ptr<State> state_;
};

}  // namespace millrace::app
