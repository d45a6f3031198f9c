// A value that is seldom there. Absent it takes eight bytes, where std::optional takes the room of
// the value: what thousands of open streams hold just in case should not cost memory.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace millrace {

// Reads like std::optional.
template <class T>
class OptionalBox {
 public:
  OptionalBox() = default;
  OptionalBox(std::nullopt_t /*nothing*/) {}
  OptionalBox(T value) : value_(std::make_unique<T>(std::move(value))) {}
  OptionalBox(std::optional<T> value) {
    if (value) value_ = std::make_unique<T>(*std::move(value));
  }
  ~OptionalBox() = default;
  OptionalBox(const OptionalBox& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  OptionalBox(OptionalBox&& other) noexcept = default;
  OptionalBox& operator=(const OptionalBox& other) {
    if (this != &other) value_ = other ? std::make_unique<T>(*other) : nullptr;
    return *this;
  }
  OptionalBox& operator=(OptionalBox&& other) noexcept = default;

  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  T& emplace() { return *(value_ = std::make_unique<T>()); }
  void reset() { value_.reset(); }
  [[nodiscard]] std::optional<T> copy() const {
    return value_ ? std::optional<T>(*value_) : std::nullopt;
  }

 private:
  std::unique_ptr<T> value_;
};

// A value that is seldom other than T{}. It reads like the value; until it is given one it takes
// eight bytes.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) : value_(std::move(value)) {}

  operator const T&() const { return value_ ? *value_ : none(); }
  const T* operator->() const { return &static_cast<const T&>(*this); }
  const T& operator*() const { return *this; }
  // To change it.
  T& edit() { return value_ ? *value_ : value_.emplace(); }

 private:
  // Never destroyed: at the end of a process the engine's thread may still read it.
  static const T& none() {
    static const T& value = *new T;
    return value;
  }
  OptionalBox<T> value_;
};

}  // namespace millrace
