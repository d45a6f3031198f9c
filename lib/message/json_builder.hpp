// Builds one JSON text from left to right; commas come by themselves.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/json_depth.hpp"

namespace millrace::message {

// How deep messages may nest: they carry data of users and tools inside.
inline constexpr std::size_t depth_limit = json::data_depth_limit;

// A call with a key writes a member, one without writes an element or the top value.
class JsonBuilder {
 public:
  // `surrogates` says how lone surrogates are written: kept for JavaScript, replaced for a
  // provider, since providers refuse requests that hold one.
  explicit JsonBuilder(json::Surrogates surrogates = json::Surrogates::keep)
      : surrogates_(surrogates) {}

  void open_object() { open({}, '{'); }
  void open_object(std::string_view key) { open(key, '{'); }
  void close_object() { out_.push_back('}'); }
  void open_array() { open({}, '['); }
  void open_array(std::string_view key) { open(key, '['); }
  void close_array() { out_.push_back(']'); }

  void text(std::string_view value);
  void text(std::string_view key, std::string_view value);
  // Writes the member only when there is something to write.
  void filled(std::string_view key, std::string_view value);
  void flag(std::string_view key, bool value);
  void null(std::string_view key);
  void value(const json::Value& value);
  void value(std::string_view key, const json::Value& value);
  // `json` is JSON text, lone surrogates kept.
  void raw(std::string_view json);
  void raw(std::string_view key, std::string_view json);
  // `json` is JSON text of a builder with the same surrogates.
  void written(std::string_view json);
  void written(std::string_view key, std::string_view json);
  // Members as JSON text `"key":value,...` without braces, written as they are.
  void members(std::string_view json);
  // Writes the string `before + value`, without a copy of a long value.
  void joined(std::string_view key, std::string_view before, std::string_view value);

  // Makes room for this many bytes more.
  void expect(std::size_t bytes) { out_.reserve(out_.size() + bytes); }
  [[nodiscard]] json::Surrogates surrogates() const { return surrogates_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void comma();
  void key(std::string_view key);
  void open(std::string_view key, char bracket);
  void append(std::string_view json);

  std::string out_;
  json::Surrogates surrogates_;
};

}  // namespace millrace::message
