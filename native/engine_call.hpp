// Reading the arguments of a function of the engine.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "engine.hpp"
#include "guard.hpp"

namespace millrace::native {

// The arguments of one call, read in order: the first that is wrong is what the call throws, and
// what is read after it is empty.
class EngineCall {
 public:
  explicit EngineCall(const Napi::CallbackInfo& info)
      : info_(info), engine_(Engine::of(info.Env())) {
    if (engine_ == nullptr) error_ = make_error(Errc::engine_closed);
  }

  // Whether the engine runs and everything read so far was right.
  explicit operator bool() const { return !error_; }

  // Only while this is true.
  [[nodiscard]] Engine& engine() const { return *engine_; }

  std::string text(std::size_t at) { return value_of(text_at(info_, at)); }

  // A stream, or what else is named by a number.
  Engine::StreamId number(std::size_t at) {
    if (!info_[at].IsNumber()) {
      return value_of<Engine::StreamId>(
          make_error(Errc::invalid_argument,
                     "Argument " + std::to_string(at + 1) + " must be the number of a stream."));
    }
    return static_cast<Engine::StreamId>(info_[at].As<Napi::Number>().Int64Value());
  }

  napi_value function(std::size_t at) {
    if (!info_[at].IsFunction()) {
      value_of<int>(make_error(Errc::invalid_argument, "deliver must be a function."));
    }
    return info_[at];
  }

  // What was made of the arguments, or an empty one.
  template <class T>
  T value_of(Result<T> result) {
    if (result) return std::move(result).value();
    if (!error_) error_ = std::move(result).error();
    return T{};
  }

  // Throws what was wrong.
  Napi::Value raised() const { return raise(info_.Env(), *error_); }
  Napi::Value nothing() const { return *this ? info_.Env().Undefined() : raised(); }

  // The number of a stream that was started.
  Napi::Value started(Engine::StreamId id) const {
    return Napi::Number::New(info_.Env(), static_cast<double>(id));
  }

 private:
  const Napi::CallbackInfo& info_;
  Engine* engine_;
  std::optional<Error> error_;
};

}  // namespace millrace::native
