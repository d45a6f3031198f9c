#include "agent/shell/shell_braces.hpp"

#include <utility>

namespace millrace::agent {
namespace {

// Deeper nesting than this is not a command anybody wrote by hand.
constexpr std::size_t most_expanded_words = 256;

}  // namespace

std::size_t closing_bracket(std::string_view text, std::size_t at, char open, char close) {
  int depth = 1;
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == open) {
      ++depth;
    } else if (c == close && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

std::string_view inside_brackets(std::string_view text, std::size_t from, std::size_t end,
                                 char close) {
  if (from > end) return {};
  const bool closed = end > from && text[end - 1] == close;
  return text.substr(from, end - from - (closed ? 1 : 0));
}

std::vector<std::string> expand_braces(std::string_view word, bool& whole) {
  std::vector<std::string> pending{std::string(word)};
  std::vector<std::string> done;
  while (!pending.empty() && done.size() + pending.size() < most_expanded_words) {
    std::string current = std::move(pending.back());
    pending.pop_back();
    const std::size_t open = current.find('{');
    const std::size_t close =
        open == std::string::npos ? open : closing_bracket(current, open + 1, '{', '}');
    const std::string_view inner =
        open == std::string::npos ? std::string_view()
                                  : std::string_view(current).substr(open + 1, close - open - 2);
    if (open == std::string::npos || current[close - 1] != '}' ||
        inner.find(',') == std::string_view::npos) {
      done.push_back(std::move(current));
      continue;
    }
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : inner) {
      if (c == '{') ++depth;
      if (c == '}') --depth;
      if (c == ',' && depth == 0) {
        parts.emplace_back();
      } else {
        parts.back().push_back(c);
      }
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      pending.push_back(current.substr(0, open) + *part + current.substr(close));
    }
  }
  whole = whole && pending.empty();
  return done;
}

}  // namespace millrace::agent
