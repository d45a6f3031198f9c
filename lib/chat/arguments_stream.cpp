#include "chat/arguments_stream.hpp"

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {
namespace {

constexpr std::string_view value_characters = "\",:{}[]0123456789+-.eEtrufalsn";

// The text that a quoted JSON string has.
std::string decoded(std::string_view escaped) {
  const auto parsed = json::Tree::parse("\"" + std::string(escaped) + "\"");
  return parsed ? std::string(parsed.value().string()) : std::string(escaped);
}

}  // namespace

std::string ArgumentsStream::feed(std::string_view piece) {
  std::string out;
  for (const char c : piece) {
    if (is_over_) break;
    take(c, out);
  }
  return out;
}

void ArgumentsStream::take(char c, std::string& out) {
  if (!in_string_) return take_outside(c, out);
  if (is_escape_) {
    is_escape_ = false;
  } else if (c == '\\') {
    is_escape_ = true;
  } else if (c == '"') {
    in_string_ = false;
    return end_string(out);
  }
  string_.push_back(c);
}

// A key decides about the value behind it.
void ArgumentsStream::end_string(std::string& out) {
  const std::string text = decoded(string_);
  string_.clear();
  if (is_secret_) {
    if (!is_replaced_) json::append_string(out, redacted);
    is_replaced_ = true;
    return;
  }
  if (expects_key_) {
    json::append_string(out, text);
    is_secret_ = is_secret_name(text);
    secret_depth_ = brackets_.size();
    is_replaced_ = false;
    expects_key_ = false;
  } else {
    json::append_string(out, redact_preview(text));
  }
}

// False for a character that no JSON has here.
bool ArgumentsStream::may_follow(char c) const {
  if (brackets_.empty()) return c == '{' || c == '[';
  if (expects_key_ && !is_secret_) return c == '"' || c == '}';
  return value_characters.find(c) != std::string_view::npos;
}

void ArgumentsStream::take_outside(char c, std::string& out) {
  if (is_ascii_space(c)) return;
  is_over_ = !may_follow(c);
  if (is_over_) return;
  // The value with the secret name is over.
  const bool is_in_place = brackets_.size() == secret_depth_;
  if (is_secret_ && is_in_place && (c == ',' || c == '}' || c == ']')) is_secret_ = false;
  const bool is_shown = !is_secret_ || (is_in_place && c == ':');
  if (!is_shown && !is_replaced_) {
    json::append_string(out, redacted);
    is_replaced_ = true;
  }
  if (c == '"') {
    in_string_ = true;
    return;
  }
  if (is_shown) out.push_back(c);
  if (c == '{' || c == '[') {
    brackets_.push_back(c);
    expects_key_ = c == '{';
  } else if (c == '}' || c == ']') {
    brackets_.pop_back();
    expects_key_ = false;
    is_over_ = brackets_.empty();
  } else if (c == ',') {
    expects_key_ = brackets_.back() == '{';
  }
}

}  // namespace millrace::chat
