// The only way another thread reaches JavaScript: one thread-safe function an environment.
//
// Three rules keep it from hanging or crashing a process: it is unreferenced at once and referenced
// only while a promise waits for it; it is released by the environment's clean-up hook and never
// later; and whatever JavaScript throws behind it becomes an uncaughtException.
#pragma once

#include "base/drain_queue.hpp"
#include "node_api.hpp"

namespace millrace::native {

// Calls `fire(env, context)` on the JavaScript thread soon after wake().
// Thread: wake from any; everything else from the JavaScript thread.
class JsWaker final : public Waker {
 public:
  using Fire = void (*)(napi_env env, void* context);

  JsWaker(napi_env env, Fire fire, void* context);
  // The environment ends or the owner does; wake() must not be called any more.
  ~JsWaker() override;
  JsWaker(const JsWaker&) = delete;
  JsWaker& operator=(const JsWaker&) = delete;

  void wake() override;
  // Whether the process stays alive for a wake-up.
  void keep_alive(bool wanted);

 private:
  static void call(napi_env env, napi_value, void* context, void*);

  napi_env env_;
  Fire fire_;
  void* context_;
  napi_threadsafe_function function_ = nullptr;
  bool retained_alive_ = false;
};

// Calls a JavaScript function and gives what it returns. What it throws becomes an
// uncaughtException; then, and when the environment ends, the result is null.
napi_value call_or_report(napi_env env, napi_value function, std::size_t count,
                          const napi_value* values);

}  // namespace millrace::native
