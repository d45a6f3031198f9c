// Letters, digits and blanks of ASCII, whatever the locale says: std::tolower and its like ask the
// locale of the process, which is not ours to set (in Turkish, I has another small letter). Other
// bytes stay as they are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace millrace {

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_ascii_alphanumeric(char c) {
  return is_ascii_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

constexpr bool is_ascii_hex_digit(char c) {
  return is_ascii_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
}

constexpr bool is_ascii_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

inline std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

}  // namespace millrace
