#include "agent/approval/glob.hpp"

#include <cstddef>
#include <string_view>

namespace millrace::agent {
namespace {

constexpr std::size_t none = std::string_view::npos;

// How much of a pattern stands for this one character; 0: it does not.
std::size_t letter_matches(GlobKind kind, std::string_view pattern, char letter) {
  if (pattern.empty()) return 0;
  if (kind == GlobKind::path && letter != '/') {
    if (pattern.front() == '?') return 1;
    const std::size_t close = pattern.front() == '[' ? pattern.find(']', 2) : none;
    if (close != none) return close + 1;
  }
  return pattern.front() == letter ? 1 : 0;
}

}  // namespace

// Only the last * is looked at again: what an earlier one could take beyond its shortest text, a
// later one can take as well.
bool glob_matches(GlobKind kind, std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = none;  // where the pattern goes on behind it
  std::size_t resume = 0;   // where the text does
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = ++in_pattern;
      resume = at;
      continue;
    }
    const std::size_t used = letter_matches(kind, pattern.substr(in_pattern), text[at]);
    if (used > 0) {
      in_pattern += used;
      ++at;
    } else if (star != none && (kind == GlobKind::text || text[resume] != '/')) {
      in_pattern = star;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == none;
}

}  // namespace millrace::agent
