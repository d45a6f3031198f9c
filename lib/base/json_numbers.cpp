#include "base/json_numbers.hpp"

#include <string_view>

namespace millrace::json {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Length of the digits at the start of `text`.
std::size_t digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

// Length of the JSON number at the start of `text`, or 0; `large` tells whether RapidJSON may
// refuse it.
std::size_t number_length(std::string_view text, bool& large) {
  constexpr std::size_t safe_digits = 300;
  constexpr std::size_t safe_exponent_digits = 2;
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(text.substr(at));
  if (whole == 0 || (whole > 1 && text[at] == '0')) return 0;
  at += whole;
  large = whole > safe_digits;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits(text.substr(at + 1));
    if (fraction == 0) return 0;
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = digits(text.substr(at));
    if (exponent == 0) return 0;
    at += exponent;
    large = large || exponent > safe_exponent_digits;
  }
  return at;
}

}  // namespace

HiddenNumbers hide_large_numbers(std::string& text) {
  HiddenNumbers hidden;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '-' || is_digit(c)) {
      bool large = false;
      const std::size_t length = number_length(std::string_view(text).substr(at), large);
      if (length == 0) continue;
      if (large) {
        hidden.emplace(at, text.substr(at, length));
        text.replace(at, length, length, ' ');
        text[at] = '0';
      }
      at += length - 1;
    }
  }
  return hidden;
}

}  // namespace millrace::json
