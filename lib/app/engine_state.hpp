// What an engine holds: private to the files of the engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/engine.hpp"
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
  os::BlockingPool reading{loop, 1, tool::pool_places};
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
                           reading,
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

}  // namespace millrace::app
