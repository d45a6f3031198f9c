// The shortest text of a number that reads as the same number.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <system_error>

namespace millrace {

// "0" for what has no text.
inline std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::string(text.data(), end) : std::string("0");
}

}  // namespace millrace
