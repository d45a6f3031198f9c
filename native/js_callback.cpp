#include "js_callback.hpp"

namespace millrace::native {

JsWaker::JsWaker(napi_env env, Fire fire, void* context)
    : env_(env), fire_(fire), context_(context) {
  // One wake-up is pending at a time; the bound only shows when that is broken.
  constexpr std::size_t queue_size = 64;
  napi_value name = nullptr;
  napi_create_string_utf8(env, "millrace", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, nullptr, nullptr, name, queue_size, 1, nullptr, nullptr,
                                  this, call, &function_);
  napi_unref_threadsafe_function(env, function_);
}

JsWaker::~JsWaker() {
  napi_release_threadsafe_function(function_, napi_tsfn_abort);
}

void JsWaker::wake() {
  // napi_closing means that the environment ends: there is nobody left to wake.
  napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
}

void JsWaker::keep_alive(bool wanted) {
  if (wanted == retained_alive_) return;
  retained_alive_ = wanted;
  if (wanted) {
    napi_ref_threadsafe_function(env_, function_);
  } else {
    napi_unref_threadsafe_function(env_, function_);
  }
}

void JsWaker::call(napi_env env, napi_value, void* context, void*) {
  // Without an environment this is a leftover of the queue, handed back to be freed.
  if (env == nullptr) return;
  auto* self = static_cast<JsWaker*>(context);
  self->fire_(env, self->context_);
}

napi_value call_or_report(napi_env env, napi_value function, std::size_t count,
                          const napi_value* values) {
  napi_value receiver = nullptr;
  napi_get_undefined(env, &receiver);
  napi_value answer = nullptr;
  const napi_status status = napi_call_function(env, receiver, function, count, values, &answer);
  if (status == napi_ok) return answer;
  if (status != napi_pending_exception) return nullptr;
  bool pending = false;
  napi_value thrown = nullptr;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending &&
      napi_get_and_clear_last_exception(env, &thrown) == napi_ok) {
    napi_fatal_exception(env, thrown);
  }
  return nullptr;
}

}  // namespace millrace::native
