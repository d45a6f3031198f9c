#include "base/partial_json.hpp"

#include <array>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "base/utf8.hpp"

namespace millrace::json {
namespace {

constexpr std::array<std::string_view, 3> literals = {"true", "false", "null"};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool begins_number(char c) {
  return c == '-' || (c >= '0' && c <= '9');
}

bool continues_number(char c) {
  return begins_number(c) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// `\uXXXX` at the end of `text` that needs a second half behind it.
bool ends_with_high_escape(std::string_view text) {
  if (text.size() < 6 || text.substr(text.size() - 6, 2) != "\\u") return false;
  const char first = text[text.size() - 4];
  const char second = text[text.size() - 3];
  return (first == 'd' || first == 'D') && (second == '8' || second == '9' || second == 'a' ||
                                            second == 'b' || second == 'A' || second == 'B');
}

}  // namespace

void PartialJson::feed(std::string_view text) {
  for (const char c : text) {
    if (complete_ || broken_) return;
    take(c);
  }
}

void PartialJson::take(char c) {
  if (state_ == State::start && c != '{' && c != '[') return;
  if (state_ == State::literal && take_literal(c)) return;
  text_.push_back(c);
  if (state_ == State::string) return take_string(c);
  if (is_space(c)) return;
  switch (state_) {
    case State::start:
    case State::value: return take_value(c);
    case State::key:
      if (c == '"') {
        state_ = State::string;
        in_key_ = true;
        string_begin_ = text_.size();
      } else if (c == '}' && first_) {
        close(c);
      } else {
        broken_ = true;
      }
      return;
    case State::colon:
      broken_ = c != ':';
      first_ = false;
      state_ = State::value;
      return;
    default: return take_separator(c);
  }
}

void PartialJson::take_value(char c) {
  if (c == '{' || c == '[') {
    open_.push_back(c == '{' ? '}' : ']');
    state_ = c == '{' ? State::key : State::value;
    first_ = true;
    good_ = text_.size();
  } else if (c == '"') {
    state_ = State::string;
    in_key_ = false;
    string_begin_ = text_.size();
  } else if (c == ']' && first_) {
    close(c);
  } else if (begins_number(c) || c == 't' || c == 'f' || c == 'n') {
    state_ = State::literal;
    string_begin_ = text_.size() - 1;
  } else {
    broken_ = true;
  }
}

void PartialJson::take_string(char c) {
  if (escape_ > 0) {
    escape_ = escape_ == 1 && c == 'u' && text_[text_.size() - 2] == '\\' ? 4 : escape_ - 1;
  } else if (c == '\\') {
    escape_ = 1;
  } else if (c == '"' && in_key_) {
    state_ = State::colon;
  } else if (c == '"') {
    settle();
  } else if (static_cast<unsigned char>(c) < 0x20) {
    broken_ = true;
  }
}

// A literal is finished by its last letter, a number by what stands behind it and is not taken.
bool PartialJson::take_literal(char c) {
  if (begins_number(text_[string_begin_])) {
    if (!continues_number(c)) {
      settle();
      return false;
    }
    text_.push_back(c);
    return true;
  }
  text_.push_back(c);
  const std::string_view word = std::string_view(text_).substr(string_begin_);
  for (const std::string_view literal : literals) {
    if (!literal.starts_with(word)) continue;
    if (literal == word) settle();
    return true;
  }
  broken_ = true;
  return true;
}

void PartialJson::take_separator(char c) {
  if (c == ',') {
    first_ = false;
    state_ = open_.back() == '}' ? State::key : State::value;
  } else if (c == open_.back()) {
    close(c);
  } else {
    broken_ = true;
  }
}

void PartialJson::close(char) {
  open_.pop_back();
  settle();
  complete_ = open_.empty();
}

void PartialJson::settle() {
  state_ = State::separator;
  first_ = false;
  good_ = text_.size();
}

// Where an open string may end: before an unfinished escape or character.
std::size_t PartialJson::open_string_end() const {
  std::size_t end = text_.size();
  if (escape_ > 0) end = text_.rfind('\\');
  std::string_view content = std::string_view(text_).substr(string_begin_, end - string_begin_);
  content.remove_suffix(utf8::unfinished_tail(content));
  if (ends_with_high_escape(content)) content.remove_suffix(6);
  return string_begin_ + content.size();
}

std::string PartialJson::completed() const {
  if (open_.empty() && !complete_) return {};
  std::string out;
  if (!broken_ && state_ == State::string && !in_key_) {
    out.assign(text_, 0, open_string_end()).push_back('"');
  } else {
    out.assign(text_, 0, good_);
  }
  out.append(open_.rbegin(), open_.rend());
  return out;
}

std::string object_text(std::string_view text) {
  const auto is_object = [](std::string_view json) {
    // For each call of a history, at each of its turns.
    thread_local Document document(data_depth_limit);
    const auto parsed = document.parse(json);
    return parsed && parsed.value().is_object();
  };
  if (is_object(text)) return std::string(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return "{}";
  PartialJson partial;
  partial.feed(text);
  std::string completed = partial.completed();
  return !partial.broken() && is_object(completed) ? completed : "{}";
}

}  // namespace millrace::json
