// A JSON value that is still arriving: what of it can be shown already.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::json {

// Completes the beginning of an object or array to valid JSON: open strings, arrays and objects are
// closed; a key without its value, an unfinished literal and a number that may go on are left out.
// No value is made up. Text before the first bracket is skipped, text behind the last ignored.
//
// It finds where a text may be cut; reading the values stays Document's.
class PartialJson {
 public:
  // Each byte is looked at once.
  void feed(std::string_view text);

  // The value so far as JSON, or "" while there is none.
  [[nodiscard]] std::string completed() const;
  // True when the outermost bracket is closed.
  [[nodiscard]] bool complete() const { return complete_; }
  // True when the text cannot be JSON; what was good before stays.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  enum class State : unsigned char { start, value, key, colon, separator, string, literal };

  void take(char c);
  void take_value(char c);
  void take_string(char c);
  bool take_literal(char c);
  void take_separator(char c);
  void close(char bracket);
  void settle();
  [[nodiscard]] std::size_t open_string_end() const;

  std::string text_;      // from the first bracket on
  std::string open_;      // the brackets that close what is open, outermost first
  std::size_t good_ = 0;  // bytes that are valid with `open_` behind them
  std::size_t string_begin_ = 0;
  State state_ = State::start;
  bool in_key_ = false;
  bool first_ = false;   // right behind an opening bracket
  unsigned escape_ = 0;  // characters of an escape that are still to come
  bool complete_ = false;
  bool broken_ = false;
};

// The arguments of a call as every API takes them: an object's text as it is, one that was cut off
// completed, "{}" for anything else.
std::string object_text(std::string_view text);

}  // namespace millrace::json
