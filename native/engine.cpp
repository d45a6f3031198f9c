#include "engine.hpp"

#include <algorithm>

#include "arguments.hpp"
#include "exports.hpp"
#include "guard.hpp"

namespace millrace::native {

Engine* Engine::of(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<Engine*>(data);
}

Engine::Engine(napi_env env, const app::EngineOptions& options, napi_value defer, napi_value renew)
    : env_(env), buffers_(env, renew), waker_(env, on_wake, this), engine_(waker_, options) {
  napi_value go_on = nullptr;
  napi_create_function(env, nullptr, 0, guard<deliver_rest>, nullptr, &go_on);
  napi_create_reference(env, go_on, 1, &go_on_);
  napi_create_reference(env, defer, 1, &defer_);
  // Registered after the thread-safe function, so that it runs before that one's own clean-up.
  napi_add_env_cleanup_hook(env, clean_up, this);
}

bool Engine::take(StreamId id) {
  auto batch = engine_.take(id);
  const bool is_there = batch.has_value();
  // What is delivered may ask for more, which keeps the process alive from here on.
  if (is_there) deliver(std::move(*batch));
  settle();
  return is_there;
}

Napi::Value Engine::deliver_rest(const Napi::CallbackInfo& info) {
  if (Engine* engine = of(info.Env())) {
    engine->goes_on_ = false;
    const auto now = Clock::now();
    engine->measure_turn(now);
    engine->begin_turn(now);
    engine->deliver_due();
  }
  return info.Env().Undefined();
}

void Engine::cancel(StreamId id) {
  engine_.cancel(id);
  forget(id);
  settle();
}

Engine::StreamId Engine::watch(StreamId id, napi_value deliver) {
  napi_ref reference = nullptr;
  napi_create_reference(env_, deliver, 1, &reference);
  callbacks_.emplace(id, reference);
  settle();
  return id;
}

void Engine::clean_up(void* data) {
  auto* self = static_cast<Engine*>(data);
  napi_set_instance_data(self->env_, nullptr, nullptr, nullptr);
  delete self;
}

void Engine::on_wake(napi_env, void* context) {
  auto* self = static_cast<Engine*>(context);
  self->due_ = self->engine_.due();
  self->deliver_due();
}

void Engine::deliver_due() {
  constexpr std::size_t at_once = 8;
  const auto now = Clock::now();
  if (!last_delivery_ || now - *last_delivery_ > turn_gap) begin_turn(now);
  while (due_ > 0) {
    std::vector<app::Engine::Batch> batches = engine_.drain(std::min(at_once, due_));
    settle();
    for (app::Engine::Batch& batch : batches) {
      const Napi::HandleScope scope(env_);
      deliver(std::move(batch));
    }
    const auto delivered_at = Clock::now();
    last_delivery_ = delivered_at;
    delivered_ += batches.size();
    due_ = batches.empty() ? 0 : due_ - batches.size();
    // What somebody waits for is handled, with all that was delivered before it, when the turn
    // ends.
    const bool is_urgent = due_ > 0 && batches.front().is_urgent;
    if (is_urgent || delivered_ >= pieces_a_turn_ || delivered_at - turn_began_ >= turn_length) {
      if (go_on_next_turn()) break;
      begin_turn(delivered_at);
    }
  }
  if (due_ == 0 && !goes_on_) engine_.rest();
  // What the callbacks asked for is known only now.
  settle();
}

void Engine::measure_turn(Clock::time_point end) {
  const std::chrono::duration<double> took = end - turn_began_;
  const double fits = static_cast<double>(delivered_) * (turn_length / took);
  pieces_a_turn_ =
      fits < most_a_turn ? std::max(static_cast<std::size_t>(fits), least_a_turn) : most_a_turn;
}

bool Engine::go_on_next_turn() {
  const Napi::HandleScope scope(env_);
  napi_value global = nullptr;
  napi_value defer = nullptr;
  napi_value go_on = nullptr;
  goes_on_ = napi_get_global(env_, &global) == napi_ok &&
             napi_get_reference_value(env_, defer_, &defer) == napi_ok &&
             napi_get_reference_value(env_, go_on_, &go_on) == napi_ok &&
             napi_call_function(env_, global, defer, 1, &go_on, nullptr) == napi_ok;
  return goes_on_;
}

void Engine::deliver(app::Engine::Batch batch) {
  const auto at = callbacks_.find(batch.stream);
  if (at == callbacks_.end()) return;
  napi_value function = nullptr;
  napi_get_reference_value(env_, at->second, &function);
  const Napi::Value undefined = Napi::Env(env_).Undefined();
  const napi_value values[] = {batch.head ? to_text(env_, *batch.head) : undefined,
                               batch.data.empty() ? undefined : data_of(batch),
                               batch.end ? to_text(env_, *batch.end) : undefined};
  if (batch.end) forget(batch.stream);
  const napi_value answer = call_or_report(env_, function, std::size(values), values);
  bool goes_on = false;
  if (answer != nullptr && napi_get_value_bool(env_, answer, &goes_on) == napi_ok && goes_on) {
    engine_.want(batch.stream);
  }
}

Napi::Value Engine::data_of(app::Engine::Batch& batch) const {
  if (batch.shape == OutputShape::bytes) return buffers_.make(std::move(batch.data));
  return to_output(env_, batch.data, batch.shape);
}

void Engine::forget(StreamId id) {
  const auto at = callbacks_.find(id);
  if (at == callbacks_.end()) return;
  napi_delete_reference(env_, at->second);
  callbacks_.erase(at);
}

}  // namespace millrace::native
