// Patterns with *: those of matchers, and those that a shell reads as paths.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::agent {

enum class GlobKind : std::uint8_t {
  text,  // * is any text; nothing else has a meaning
  path,  // * and ? stay within a folder, [...] is any letter, whatever it lists
};

// Whether the whole text follows the pattern. Time: pattern times text at most.
bool glob_matches(GlobKind kind, std::string_view pattern, std::string_view text);

}  // namespace millrace::agent
