// The edge between JavaScript and the engine: every exported function is a guard<fn> or a
// method<T, fn>, since a C++ exception that leaves a Node-API callback ends the process.
//
// Errors leave as a thrown string, the JSON text of millrace::error_json; JavaScript makes the
// error object. An object made here would belong to Node's own realm and fail `instanceof` in
// others.
#pragma once

#include <exception>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/error_json.hpp"
#include "node_api.hpp"
#include "os/descriptors.hpp"

namespace millrace::native {

// Throws `error` into JavaScript; the caller returns at once.
inline Napi::Value raise(napi_env env, const Error& error) {
  const std::string text = millrace::error_json(error);
  napi_value value = nullptr;
  if (napi_create_string_utf8(env, text.data(), text.size(), &value) == napi_ok) {
    napi_throw(env, value);
  }
  return {};
}

namespace detail {

// What the system refused. Without descriptors nothing is wrong with the engine.
inline Error error_of(const std::system_error& failure) {
  return os::is_out_of_descriptors(failure.code().value())
             ? os::out_of_descriptors(failure.what())
             : make_error(Errc::internal, failure.what());
}

template <class Call>
napi_value call_guarded(napi_env env, napi_callback_info info, Call&& call) noexcept {
  try {
    const Napi::CallbackInfo arguments(env, info);
    return call(arguments);
  } catch (const std::system_error& failure) {
    raise(env, error_of(failure));
  } catch (const std::exception& exception) {
    raise(env, make_error(Errc::internal, exception.what()));
  } catch (...) {
    raise(env, make_error(Errc::internal));
  }
  return nullptr;
}

}  // namespace detail

using Function = Napi::Value (*)(const Napi::CallbackInfo&);

template <Function fn>
napi_value guard(napi_env env, napi_callback_info info) noexcept {
  return detail::call_guarded(env, info, fn);
}

// Sets `exports[name]` to a guarded function.
template <Function fn>
void set_function(Napi::Env env, Napi::Object exports, const char* name) {
  napi_value function = nullptr;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, guard<fn>, nullptr, &function) == napi_ok) {
    exports.Set(name, Napi::Value(env, function));
  }
}

}  // namespace millrace::native
