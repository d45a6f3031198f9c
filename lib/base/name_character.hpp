// What a character of a name or an id is that every provider takes.
#pragma once

#include "base/ascii.hpp"

namespace millrace {

// A letter, a digit, `_` or `-`.
constexpr bool is_name_character(char c) {
  return is_ascii_alphanumeric(c) || c == '_' || c == '-';
}

}  // namespace millrace
