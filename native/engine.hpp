// The engine of this environment, and the delivery of what streams produce. It starts with the
// first request; loading the addon starts nothing.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "app/engine.hpp"
#include "buffers.hpp"
#include "host/mcp_stream.hpp"
#include "js_callback.hpp"
#include "live_engines.hpp"
#include "node_api.hpp"
#include "os/event_loop.hpp"

namespace millrace::native {

// Thread: the JavaScript thread.
class Engine {
 public:
  using StreamId = app::Engine::StreamId;
  using Clock = std::chrono::steady_clock;

  // The engine of the environment, or null while none was started.
  static Engine* of(napi_env env);

  // `defer` calls a function in the next turn of the event loop, as setImmediate. `renew`: see
  // Buffers.
  Engine(napi_env env, const app::EngineOptions& options, napi_value defer, napi_value renew);

  // Starts a stream of a request, a model call, an MCP client, a tool or an agent; `deliver` is
  // called with what it produces.
  template <class Task>
  StreamId start(Task task, napi_value deliver) {
    return watch(engine_.start(std::move(task)), deliver);
  }

  void command(StreamId id, host::HostCommand command) { engine_.command(id, std::move(command)); }
  void feed(StreamId id, std::optional<std::string> bytes) { engine_.feed(id, std::move(bytes)); }

  Result<std::size_t> builtin_tools(const std::string& options) {
    return engine_.builtin_tools(options);
  }

  [[nodiscard]] std::shared_ptr<const tool::Registry> toolset(std::size_t number) const {
    return engine_.toolset(number);
  }

  Result<std::string> demo_address() { return engine_.demo_address(); }

  Result<std::shared_ptr<const run::AgentPlan>> plan(std::string_view json) {
    return engine_.plan(json);
  }

  Result<StreamId> start_runtime(std::string_view options, napi_value deliver) {
    auto id = engine_.start_runtime(options);
    if (id) watch(id.value(), deliver);
    return id;
  }

  void add_agent(StreamId runtime, std::string name, run::DurableAgent agent) {
    engine_.add_agent(runtime, std::move(name), std::move(agent));
  }

  template <class Spec>
  StreamId start(StreamId runtime, Spec run, napi_value deliver) {
    return watch(engine_.start(runtime, std::move(run)), deliver);
  }

  void keep_alive(StreamId id, bool is_on) {
    engine_.keep_alive(id, is_on);
    settle();
  }

  void stop(StreamId id) { engine_.stop(id); }

  void complete(StreamId id, std::uint64_t request_id, std::string json) {
    engine_.complete(id, request_id, std::move(json));
  }

  std::string circuits() const { return engine_.circuits_json(); }

  void read_as(StreamId id, const host::PipeSpec& spec) { engine_.read_as(id, spec); }

  // Delivers at once what is there.
  bool take(StreamId id);

  // The turn after one that was too short.
  static Napi::Value deliver_rest(const Napi::CallbackInfo& info);

  void cancel(StreamId id);

 private:
  StreamId watch(StreamId id, napi_value deliver);

  static void clean_up(void* data);

  static void on_wake(napi_env, void* context);

  // Delivers what was there at the wake-up, but no longer than a moment before timers and sockets
  // of others have their turn, and no more behind what is urgent. What comes meanwhile waits for
  // the next wake-up, so that it may be more by then. Node answers a wake-up that comes while one
  // is answered in the same turn.
  void deliver_due();

  void begin_turn(Clock::time_point now) {
    turn_began_ = now;
    delivered_ = 0;
  }

  // A turn was as long as its callbacks and what they left to be done behind them: the next one
  // gets as many pieces as fit.
  void measure_turn(Clock::time_point end);

  // Has deliver_due called in the next turn of the event loop; until then nobody is woken.
  bool go_on_next_turn();

  // deliver(head: string | undefined, data: string | Buffer | undefined, end: string | undefined)
  // -> true to be called again without asking
  void deliver(app::Engine::Batch batch);
  Napi::Value data_of(app::Engine::Batch& batch) const;

  void forget(StreamId id);

  void settle() { waker_.keep_alive(engine_.waiting() > 0); }

  static constexpr std::chrono::microseconds turn_gap{100};
  static constexpr std::chrono::microseconds turn_length{500};
  // Promises that a delivery settled are heard, and responses written, after all of them.
  static constexpr std::size_t most_a_turn = 128;
  static constexpr std::size_t least_a_turn = 16;

  napi_env env_;
  Buffers buffers_;
  napi_ref go_on_ = nullptr;  // the function that calls deliver_rest
  napi_ref defer_ = nullptr;  // calls a function in the next turn
  Clock::time_point turn_began_;
  std::optional<Clock::time_point> last_delivery_;
  std::size_t delivered_ = 0;  // this turn
  std::size_t pieces_a_turn_ = most_a_turn;
  std::size_t due_ = 0;   // streams that the wake-up is still to be answered for
  bool goes_on_ = false;  // in the next turn
  JsWaker waker_;
  app::Engine engine_;
  LiveEngine live_{[this] { engine_.shut_down(); }};
  std::unordered_map<StreamId, napi_ref> callbacks_;
};

}  // namespace millrace::native
