#include "app/engine.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/demo_provider.hpp"
#include "app/engine_state.hpp"
#include "app/open_stores.hpp"
#include "app/runtime_api.hpp"
#include "app/store_control.hpp"
#include "base/error_json.hpp"
#include "host/body_stream.hpp"
#include "host/mcp_stream.hpp"

namespace millrace::app {

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

void Engine::feed(StreamId stream, std::optional<std::string> bytes) {
  if (!bytes) return state_->on_stream(stream, [](host::HostTask& found) { found.fed(); });
  const auto piece = std::make_shared<const std::string>(*std::move(bytes));
  state_->on_stream(stream, [piece](host::HostTask& found) { found.feed(*piece); });
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
  auto api = api::read_api_options(parsed.value()["api"]);
  if (!api) return std::move(api).error();
  parsed.value().erase("api");
  auto log =
      api::AccessLog::open(state_->pool, {api.value().access_log, api.value().trusted_proxies});
  if (!log) return std::move(log).error();
  auto options = read_store_options(parsed.value());
  if (!options) return std::move(options).error();
  api.value().files = path_of(options.value().storage);
  api.value().upload_folder = folder_of(options.value().storage);
  const StreamId id = state_->next_id++;
  state_->shapes[id] = OutputShape::items;
  state_->queue.open(id);
  host::RuntimeSpec spec;
  spec.owner = owner_name();
  spec.is_shared = options.value().storage != "memory";
  spec.left.most_time = options.value().left_timeout.value_or(spec.left.most_time);
  spec.reader_stall = api.value().reader_stall;
  spec.starts = options.value().starts;
  spec.demands_versions = options.value().demands_versions;
  spec.retention = options.value().retention;
  spec.left.most_runs = options.value().left_runs.value_or(spec.left.most_runs);
  if (spec.is_shared && !options.value().read_only) {
    spec.control = [state = state_.get(), storage = options.value().storage](
                       host::RuntimeSpec::FindRequests find) -> Result<std::shared_ptr<void>> {
      auto control = StoreControl::open(state->loop, storage, std::move(find));
      if (!control) return std::move(control).error();
      return std::shared_ptr<void>(std::move(control).value());
    };
  }
  spec.api = [api = std::move(api).value(),
              log = std::move(log).value()](run::RouteServices services) {
    return make_runtime_api(std::move(services), api, log);
  };
  spec.open = [state = state_.get(), id, options = std::move(options).value()] {
    StoreOptions own = options;
    own.on_lost_commits = [state, id](const Error& error) {
      state->loop.post([state, id, error] {
        const auto found = state->runtimes.find(id);
        const auto stream = found == state->runtimes.end() ? nullptr : found->second.lock();
        if (stream) stream->report_loss("Commits are missing", error);
      });
    };
    auto opened = open_store(own);
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

Engine::StreamId Engine::start(StreamId runtime, host::FetchSpec fetch) {
  return start_reader<host::FetchStream>(runtime, OutputShape::bytes, std::move(fetch));
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
