// Result<T>: a value or an Error. The only way a function of the engine reports a failure.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/error.hpp"

namespace millrace {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  // Not defaulted: `return {}` would fill the room of the error with zeros first.
  Result() : error_(std::nullopt) {}
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace millrace

// Leaves the enclosing function with the error of `expression` when it has one.
#define MILLRACE_TRY(expression)                                 \
  do {                                                           \
    if (auto millrace_result = (expression); !millrace_result) { \
      return std::move(millrace_result).error();                 \
    }                                                            \
  } while (false)
