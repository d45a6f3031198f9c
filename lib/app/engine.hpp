// The engine of one host environment: its thread, its HTTP client, and the streams whose output the
// host takes from a drain queue.
//
// A stream is a request whose body runs through a pipe on the engine thread. Which pipe is chosen
// at the first read, since a host may hand the response to a reader of bytes, or of events.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/drain_queue.hpp"
#include "base/result.hpp"
#include "host/agent_stream.hpp"
#include "host/fetch_stream.hpp"
#include "host/host_task.hpp"
#include "host/model_stream.hpp"
#include "host/pipe.hpp"
#include "host/run_bytes.hpp"
#include "host/run_stream.hpp"
#include "host/runtime_stream.hpp"
#include "host/tool_stream.hpp"
#include "net/client.hpp"
#include "tool/mcp/client.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::app {

struct EngineOptions {
  net::ClientOptions client;
  DrainLimits drain;
};

// Reads what a host says about its environment.
// Shape: {"userAgent", "caFile": string, "extraCaFiles": [string]}.
// Errors: invalid_json.
Result<EngineOptions> read_engine_options(std::string_view json);

// Reads a request without its body.
// Shape: {"method", "url": string, "headers": [[name, value]], "timeouts": {"connect", "firstByte",
// "idle", "total": ms}, "limits": {"headerBytes", "decodedBytes": number}, "follow": boolean,
// "guard": what tool::read_guard reads, and what model/provider/route.hpp reads}.
// Errors: invalid_json, invalid_option, invalid_url.
Result<net::Request> read_request(std::string_view json);

// Thread: the host's, all of it; the waker is called on the engine thread.
// Lifetime: the waker outlives the engine, whose destructor ends every stream and joins the
// engine thread.
class Engine {
 public:
  using StreamId = DrainQueue::StreamId;

  // What a reader gets. `head` is JSON text: {"status", "statusText", "headers": [[name, value]],
  // "url", "redirected"}. `end` is "" or the error_json of what ended the stream.
  struct Batch : DrainQueue::Batch {
    OutputShape shape = OutputShape::bytes;
  };

  Engine(Waker& waker, const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Starts a request; its head comes with a batch.
  StreamId start(net::Request request);
  // Starts a model call: the head ("{}") says that a provider took it, the data is of the shape of
  // its output, and a call that no provider took ends with its error where the output is bytes.
  StreamId start(host::ModelCallSpec call);
  // Starts an MCP client, whose output is items (host/mcp_stream.hpp) and which takes commands.
  StreamId start(mcp::ClientOptions client);
  void command(StreamId stream, host::HostCommand command);
  // A piece of the body that a stream waits for; nothing is its end.
  void feed(StreamId stream, std::optional<std::string> bytes);
  // Runs a tool; its outcome is the head.
  StreamId start(host::ToolTask task);
  // The number of the set of builtin tools of these options (tool/builtin/builtin.hpp), which lives
  // as long as the engine; sets of the same options are one.
  // Errors: invalid_json, invalid_option.
  Result<std::size_t> builtin_tools(const std::string& options_json);
  // Null for a number that none has.
  [[nodiscard]] std::shared_ptr<const tool::Registry> toolset(std::size_t number) const;
  // Starts an agent's run.
  StreamId start(host::AgentSpec agent);
  // Gives the bytes of a run that waits to begin; they end with it.
  StreamId start(host::AgentBytesTask bytes);
  // Opens a runtime, whose output is items (host/runtime_stream.hpp) and which takes commands.
  // Shape: that of read_store_options, with "api": that of api::read_api_options.
  // Errors: invalid_json, invalid_option.
  Result<StreamId> start_runtime(std::string_view options_json);
  // Makes runs of the name possible in a runtime, and goes on with those that were left.
  void add_agent(StreamId runtime, std::string name, run::DurableAgent agent);
  // Begins a durable run of a runtime, or reads one.
  StreamId start(StreamId runtime, host::RunSpec run);
  // The same for the bytes of its AG-UI response.
  StreamId start(StreamId runtime, host::RunBytesSpec run);
  // Answers a request by the routes of the runtime.
  StreamId start(StreamId runtime, host::FetchSpec fetch);
  // The plan of this text; the latest ones are kept. Its tools may name tools of the engine:
  // {"set": number, "name"} or {"stream": that of an MCP client, "name": the server's,
  // "outputSchema"?, "timeoutMs"?}.
  // Errors: those of read_agent_plan.
  Result<std::shared_ptr<const run::AgentPlan>> plan(std::string_view json);
  // The address of the demo model, which starts with the first call and ends with the engine.
  // Errors: those of http::Server::listen.
  Result<std::string> demo_address();
  // Ends a model call or a run as cancelled; the rest of its output still comes.
  void stop(StreamId stream);
  // Answers a question to user code: "" leaves things of a model call as they are.
  void complete(StreamId stream, std::uint64_t id, std::string json);
  // The providers that failed lately (CircuitStore::json).
  [[nodiscard]] std::string circuits_json() const;
  // Says what the body shall become; once a stream, before its data is taken.
  void read_as(StreamId stream, const host::PipeSpec& spec);
  // What is there, or nothing; then the waker is called when something is.
  std::optional<Batch> take(StreamId stream);
  // Asks as take does, but what is there already comes with a drain, too.
  void want(StreamId stream);
  // Answers the waker, at once or bit by bit; see DrainQueue.
  std::vector<Batch> drain();
  std::vector<Batch> drain(std::size_t limit);
  // How many streams a wake-up is to be answered for.
  [[nodiscard]] std::size_t due() const;
  void rest();
  // Closes the connection and forgets the stream; nothing more comes of it.
  void cancel(StreamId stream);

  // Whether a stream whose reader always waits keeps the host alive.
  void keep_alive(StreamId stream, bool is_on);
  // The process ends: stops the engine's thread and gives back the runs that are at work here.
  void shut_down();

  // Readers that wait.
  [[nodiscard]] std::size_t waiting() const;
  // For the rooms that run on the same thread.
  os::EventLoop& loop();

 private:
  class State;
  template <class Stream, class Spec>
  StreamId start_reader(StreamId runtime, OutputShape shape, Spec spec);
  std::unique_ptr<State> state_;
};

}  // namespace millrace::app
