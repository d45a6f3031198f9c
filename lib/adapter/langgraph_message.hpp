// What a message says in the JSON that LangChain serialises it to.
// Source: LangChain message JSON (2026).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.hpp"

namespace millrace::adapter {

enum class Author : std::uint8_t { other, ai, tool };
Author author_of(std::string_view type);

// A list of calls by their ids, which are read when the first one is looked for.
// Lifetime: of the list.
class CallList {
 public:
  CallList() = default;
  explicit CallList(const json::Value& list) : list_(list) {}

  [[nodiscard]] bool empty() const { return list_.size() == 0; }
  // The first call of this id, or nothing.
  [[nodiscard]] json::Value find(std::string_view id);
  [[nodiscard]] bool has(std::string_view id) { return find(id).exists(); }

 private:
  json::Value list_;
  std::unordered_map<std::string_view, json::Value> by_id_;
};

// The first of these members that is a string with text, or "".
std::string_view first_text(const json::Value& value, std::string_view key,
                            std::string_view other_key);

// Appends the reasoning of a block of content.
void append_reasoning(std::string& out, const json::Value& block);

// The reasoning in a message, wherever its provider's integration puts it.
// Lifetime: the view is into `out`.
std::string_view collect_reasoning(std::string& out, const json::Value& body);

// The text of a message: its content, or the text of its content's blocks.
// Lifetime: the view is into `out` or the content.
std::string_view collect_text(std::string& out, const json::Value& content);

// What `all` has more than was given; nothing when it does not continue that.
std::string_view take_rest(std::string& given, std::string_view all);

// A string as it is, other JSON as its text, "" for nothing.
std::string json_text(const json::Value& value);

}  // namespace millrace::adapter
