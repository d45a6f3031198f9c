#include "app/engine.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/demo_provider.hpp"
#include "app/open_stores.hpp"
#include "app/store_control.hpp"
#include "base/error_json.hpp"
#include "host/body_stream.hpp"
#include "host/mcp_stream.hpp"
#include "host/turn_waker.hpp"
#include "http/server.hpp"
#include "model/call/clock.hpp"
#include "os/blocking_pool.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "run/suspended_runs.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/described.hpp"
#include "tool/mcp/remote_tools.hpp"

namespace millrace::app {

// The engine thread owns `streams`, `kept` and `client`; the host's thread owns the rest. The
// client ends before what its handlers use.
class Engine::State {
 public:
  State(Waker& host, const EngineOptions& options)
      : waker(loop, host),
        queue(waker, options.drain),
        client(loop, options.client, [this] { return waker.pace(); }) {
    loop.start();
  }
  ~State() {
    demo.reset();
    loop.stop();
    for (const auto& [id, stream] : streams) stream->silence();
    for (const auto& [id, weak] : runtimes) {
      if (const auto runtime = weak.lock()) runtime->end();
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Calls `work` with the stream on the engine thread, unless it has ended.
  template <class Work>
  void on_stream(StreamId id, Work work) {
    loop.post([this, id, work = std::move(work)] {
      const auto at = streams.find(id);
      if (at == streams.end()) return;
      const std::shared_ptr<host::HostTask> stream = at->second;
      work(*stream);
    });
  }

  Batch complete(DrainQueue::Batch&& batch) {
    Batch result{std::move(batch), OutputShape::bytes};
    const auto shape = shapes.find(result.stream);
    if (shape != shapes.end()) {
      result.shape = shape->second;
      if (result.end) shapes.erase(shape);
    }
    if (result.was_paused) {
      on_stream(result.stream, [](host::HostTask& stream) { stream.resume(); });
    }
    return result;
  }

  std::vector<Batch> complete(std::vector<DrainQueue::Batch>&& batches) {
    std::vector<Batch> results;
    results.reserve(batches.size());
    for (DrainQueue::Batch& batch : batches) results.push_back(complete(std::move(batch)));
    return results;
  }

  tool::Surroundings around() { return {loop, client, pool}; }

  void forget(StreamId id) {
    mcp_calls.erase(id);
    agents.erase(id);
    runtimes.erase(id);
    streams.erase(id);
  }

  // Calls `work` with a runtime on the engine thread, unless it has ended.
  template <class Work>
  void on_runtime(StreamId id, Work work) {
    loop.post([this, id, work = std::move(work)]() mutable {
      const auto at = runtimes.find(id);
      work(at == runtimes.end() ? nullptr : at->second.lock());
    });
  }

  // A runtime could not open its store. The latest of them are remembered.
  void failed(StreamId runtime, const Error& error) {
    constexpr std::size_t most = 64;
    failures.insert_or_assign(runtime, error);
    if (failures.size() > most) failures.erase(failures.begin());
  }
  [[nodiscard]] Error why_closed(StreamId runtime) const {
    const auto found = failures.find(runtime);
    return found == failures.end() ? make_error(Errc::engine_closed, "The runtime is closed.")
                                   : found->second;
  }

  // A tool of the engine for a plan; null when there is none.
  std::shared_ptr<tool::Tool> tool_of(const json::Tree& engine, tool::Spec spec) {
    if (engine["set"].is_number()) {
      const auto number = static_cast<std::size_t>(engine["set"].integer_or(-1));
      if (number >= toolsets.size()) return nullptr;
      const auto found = toolsets[number]->entries().find(engine["name"].string());
      if (found == toolsets[number]->entries().end()) return nullptr;
      return tool::described_as(std::move(spec), found->second.tool);
    }
    if (!engine["stream"].is_number()) return nullptr;
    mcp::RemoteTool remote;
    remote.spec = std::move(spec);
    remote.name = engine["name"].string();
    remote.timeout = std::chrono::milliseconds(engine["timeoutMs"].integer_or(0));
    if (engine["outputSchema"].is_object()) remote.output_schema = engine["outputSchema"].to_json();
    const auto stream = static_cast<StreamId>(engine["stream"].integer_or(0));
    return mcp::make_tool(std::move(remote), [this, stream] {
      const auto at = mcp_calls.find(stream);
      return at == mcp_calls.end() ? nullptr : at->second;
    });
  }

  os::EventLoop loop;
  os::BlockingPool pool{loop, tool::pool_threads, tool::pool_places};
  host::TurnWaker waker;
  DrainQueue queue;
  os::RandomIds ids;
  model::SystemRandom random_source;
  model::TokenStore tokens;
  model::CircuitStore circuits;
  run::SuspendedRuns suspended;
  std::unordered_map<StreamId, std::shared_ptr<host::HostTask>> streams;
  host::HostServices owner{loop,
                           client,
                           queue,
                           {ids, random_source, tokens, circuits},
                           pool,
                           [this](std::size_t bytes) { waker.on_output(bytes); },
                           [this](StreamId id) { forget(id); }};
  net::Client client;
  std::unordered_map<StreamId, std::shared_ptr<mcp::RemoteCalls>> mcp_calls;  // engine thread
  std::unordered_map<StreamId, std::weak_ptr<host::AgentStream>> agents;      // engine thread
  // Engine thread, or none once that has stopped.
  std::unordered_map<StreamId, std::weak_ptr<host::RuntimeStream>> runtimes;
  std::map<StreamId, Error> failures;  // engine thread
  std::unordered_map<StreamId, OutputShape> shapes;
  std::vector<std::shared_ptr<const tool::Registry>> toolsets;
  std::unordered_map<std::string, std::size_t> toolset_of;  // by their options
  std::optional<tool::Registry> builtin;                    // made with the first agent
  std::unique_ptr<http::Server> demo;
  std::string demo_address;
  std::map<std::string, std::shared_ptr<const run::AgentPlan>, std::less<>> plans;
  StreamId next_id = 1;
};

Engine::Engine(Waker& waker, const EngineOptions& options)
    : state_(std::make_unique<State>(waker, options)) {}

Engine::~Engine() = default;

Engine::StreamId Engine::start(net::Request request) {
  const StreamId id = state_->next_id++;
  state_->queue.open(id);
  state_->loop.post([state = state_.get(), id, request = std::move(request)]() mutable {
    auto stream = std::make_shared<host::BodyStream>(id, state->owner);
    state->streams.emplace(id, stream);
    stream->start(std::move(request), stream);
  });
  return id;
}

Engine::StreamId Engine::start(host::ModelCallSpec call) {
  const StreamId id = state_->next_id++;
  const bool items =
      call.output.protocol == model::ModelProtocol::events || call.output.with_events;
  state_->shapes[id] = items ? OutputShape::items : OutputShape::bytes;
  state_->queue.open(id);
  // A function object must be copyable, and a call is not cheap to copy.
  auto shared = std::make_shared<host::ModelCallSpec>(std::move(call));
  state_->loop.post([state = state_.get(), id, shared] {
    auto stream = std::make_shared<host::ModelStream>(id, state->owner, std::move(*shared));
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

Engine::StreamId Engine::start(mcp::ClientOptions client) {
  const StreamId id = state_->next_id++;
  state_->shapes[id] = OutputShape::items;
  state_->queue.open(id);
  auto shared = std::make_shared<mcp::ClientOptions>(std::move(client));
  state_->loop.post([state = state_.get(), id, shared] {
    auto stream = std::make_shared<host::McpStream>(id, state->owner, std::move(*shared));
    state->streams.emplace(id, stream);
    state->mcp_calls.emplace(id, stream->calls());
    stream->start();
  });
  return id;
}

Engine::StreamId Engine::start(host::ToolTask task) {
  const StreamId id = state_->next_id++;
  state_->queue.open(id);
  state_->loop.post([state = state_.get(), id, task = std::move(task)] {
    auto stream = std::make_shared<host::ToolRun>(id, state->owner, task);
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

void Engine::command(StreamId stream, host::HostCommand command) {
  state_->on_stream(
      stream, [command = std::move(command)](host::HostTask& found) { found.command(command); });
}

Result<std::size_t> Engine::builtin_tools(const std::string& options_json) {
  auto& known = state_->toolset_of;
  if (const auto at = known.find(options_json); at != known.end()) return at->second;
  auto options = json::Tree::parse(options_json);
  if (!options) return std::move(options).error();
  auto tools = tool::make_builtin_tools(options.value(), state_->around());
  if (!tools) return std::move(tools).error();
  auto& sets = state_->toolsets;
  sets.push_back(std::make_shared<const tool::Registry>(std::move(tools).value()));
  return known[options_json] = sets.size() - 1;
}

std::shared_ptr<const tool::Registry> Engine::toolset(std::size_t number) const {
  return number < state_->toolsets.size() ? state_->toolsets[number] : nullptr;
}

Engine::StreamId Engine::start(host::AgentSpec agent) {
  const StreamId id = state_->next_id++;
  state_->shapes[id] = OutputShape::items;
  state_->queue.open(id);
  auto shared = std::make_shared<host::AgentSpec>(std::move(agent));
  state_->loop.post([state = state_.get(), id, shared] {
    auto stream =
        std::make_shared<host::AgentStream>(id, state->owner, state->suspended, std::move(*shared));
    state->streams.emplace(id, stream);
    state->agents.emplace(id, stream);
    stream->start();
  });
  return id;
}

Engine::StreamId Engine::start(host::AgentBytesTask bytes) {
  const StreamId id = state_->next_id++;
  state_->shapes[id] = OutputShape::bytes;
  state_->queue.open(id);
  state_->loop.post([state = state_.get(), id, bytes = std::move(bytes)] {
    const auto found = state->agents.find(bytes.agent);
    const auto agent = found == state->agents.end() ? nullptr : found->second.lock();
    if (!agent) return state->queue.end(id, {});
    auto stream = std::make_shared<host::AgentBytes>(id, state->owner, bytes.run, agent);
    state->streams.emplace(id, stream);
    agent->add(std::move(stream));
  });
  return id;
}

Result<Engine::StreamId> Engine::start_runtime(std::string_view options_json) {
  auto parsed = json::Tree::parse(options_json);
  if (!parsed) return std::move(parsed).error();
  auto options = read_store_options(parsed.value());
  if (!options) return std::move(options).error();
  const StreamId id = state_->next_id++;
  state_->shapes[id] = OutputShape::items;
  state_->queue.open(id);
  host::RuntimeSpec spec;
  spec.owner = owner_name();
  spec.is_shared = options.value().storage != "memory";
  if (spec.is_shared && !options.value().read_only) {
    spec.control = [state = state_.get(), storage = options.value().storage](
                       host::RuntimeSpec::FindRequests find) -> Result<std::shared_ptr<void>> {
      auto control = StoreControl::open(state->loop, storage, std::move(find));
      if (!control) return std::move(control).error();
      return std::shared_ptr<void>(std::move(control).value());
    };
  }
  spec.open = [state = state_.get(), id, options = std::move(options).value()] {
    auto opened = open_store(options);
    // Before the runtime that ends by it: readers that come later get the reason as well.
    if (!opened)
      state->loop.post([state, id, error = opened.error()] { state->failed(id, error); });
    return opened;
  };
  state_->loop.post([state = state_.get(), id, spec = std::move(spec)] {
    auto stream = std::make_shared<host::RuntimeStream>(id, state->owner, spec);
    state->streams.emplace(id, stream);
    state->runtimes.emplace(id, stream);
    stream->start();
  });
  return id;
}

void Engine::add_agent(StreamId runtime, std::string name, run::DurableAgent agent) {
  state_->on_runtime(runtime, [name = std::move(name), agent = std::move(agent)](
                                  const std::shared_ptr<host::RuntimeStream>& found) {
    if (found) found->add(name, agent);
  });
}

template <class Stream, class Spec>
Engine::StreamId Engine::start_reader(StreamId runtime, OutputShape shape, Spec spec) {
  const StreamId id = state_->next_id++;
  state_->shapes[id] = shape;
  state_->queue.open(id);
  auto shared = std::make_shared<Spec>(std::move(spec));
  state_->on_runtime(runtime, [state = state_.get(), id, runtime,
                               shared](const std::shared_ptr<host::RuntimeStream>& found) {
    if (!found) return state->queue.end(id, error_json(state->why_closed(runtime)));
    auto stream = std::make_shared<Stream>(id, state->owner, found, std::move(*shared));
    state->streams.emplace(id, stream);
    stream->start();
  });
  return id;
}

Engine::StreamId Engine::start(StreamId runtime, host::RunSpec run) {
  return start_reader<host::RunStream>(runtime, OutputShape::items, std::move(run));
}

Engine::StreamId Engine::start(StreamId runtime, host::RunBytesSpec run) {
  return start_reader<host::RunBytes>(runtime, OutputShape::bytes, std::move(run));
}

void Engine::keep_alive(StreamId stream, bool is_on) {
  state_->queue.set_quiet(stream, !is_on);
}

void Engine::shut_down() {
  state_->loop.stop();
  for (const auto& [id, weak] : state_->runtimes) {
    if (const auto runtime = weak.lock()) runtime->release();
  }
}

Result<std::shared_ptr<const run::AgentPlan>> Engine::plan(std::string_view json) {
  constexpr std::size_t suspended_plans = 64;
  auto& plans = state_->plans;
  if (const auto at = plans.find(json); at != plans.end()) return at->second;
  if (!state_->builtin) {
    auto made = run::agent_tools(state_->around());
    if (!made) return std::move(made).error();
    state_->builtin = std::move(made).value();
  }
  const run::ToolSources sources{*state_->builtin,
                                 [state = state_.get()](const json::Tree& engine, tool::Spec spec) {
                                   return state->tool_of(engine, std::move(spec));
                                 }};
  auto read = run::read_agent_plan(json, sources);
  if (!read) return read;
  if (plans.size() >= suspended_plans) plans.clear();
  plans.emplace(std::string(json), read.value());
  return read;
}

Result<std::string> Engine::demo_address() {
  if (!state_->demo_address.empty()) return state_->demo_address;
  auto server = std::make_unique<http::Server>(state_->loop);
  http::ServerOptions options;
  options.port = 0;
  auto port = server->listen(std::move(options), demo_provider(state_->loop));
  if (!port) return std::move(port).error();
  state_->demo = std::move(server);
  state_->demo_address = "http://127.0.0.1:" + std::to_string(port.value());
  return state_->demo_address;
}

void Engine::stop(StreamId stream) {
  state_->on_stream(stream, [](host::HostTask& found) { found.stop(); });
}

void Engine::complete(StreamId stream, std::uint64_t id, std::string json) {
  state_->on_stream(
      stream, [id, json = std::move(json)](host::HostTask& found) { found.complete(id, json); });
}

std::string Engine::circuits_json() const {
  return state_->circuits.json(std::chrono::steady_clock::now());
}

void Engine::read_as(StreamId stream, const host::PipeSpec& spec) {
  state_->shapes[stream] = host::shape_of(spec.kind);
  state_->on_stream(stream, [spec](host::HostTask& found) { found.read_as(spec); });
}

std::optional<Engine::Batch> Engine::take(StreamId stream) {
  auto batch = state_->queue.take(stream);
  if (!batch) return std::nullopt;
  return state_->complete(std::move(*batch));
}

void Engine::want(StreamId stream) {
  state_->queue.want(stream);
}

std::vector<Engine::Batch> Engine::drain() {
  return state_->complete(state_->queue.drain());
}

std::vector<Engine::Batch> Engine::drain(std::size_t limit) {
  return state_->complete(state_->queue.drain(limit));
}

std::size_t Engine::due() const {
  return state_->queue.due();
}

void Engine::rest() {
  state_->queue.rest();
}

void Engine::cancel(StreamId stream) {
  state_->queue.drop(stream);
  state_->shapes.erase(stream);
  state_->loop.post([state = state_.get(), stream] {
    const auto at = state->streams.find(stream);
    if (at == state->streams.end()) return;
    at->second->cancel();
    state->forget(stream);
  });
}

std::size_t Engine::waiting() const {
  return state_->queue.waiting();
}

os::EventLoop& Engine::loop() {
  return state_->loop;
}

}  // namespace millrace::app
