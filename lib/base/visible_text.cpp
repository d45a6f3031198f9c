#include "base/visible_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/utf8.hpp"

namespace millrace {
namespace {

// Bytes of the terminal sequence behind an ESC, the ESC included.
std::size_t terminal_sequence(std::string_view text) {
  if (text.size() < 2) return text.size();
  std::size_t at = 2;
  if (text[1] == '[') {
    while (at < text.size() && (text[at] < '\x40' || text[at] > '\x7E') && text[at] != '\n') ++at;
    return std::min(at + 1, text.size());
  }
  if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^' || text[1] == 'X') {
    while (at < text.size() && text[at] != '\x07' && text[at] != '\n') {
      if (text[at] == '\x1B' && at + 1 < text.size() && text[at + 1] == '\\') return at + 2;
      ++at;
    }
    return at < text.size() && text[at] == '\x07' ? at + 1 : at;
  }
  return 2;
}

struct Range {
  char32_t first;
  char32_t last;
};
// Controls, marks of direction, spaces without width, language tags and interlinear marks.
constexpr std::array unseen{Range{0x0, 0x8},        Range{0xB, 0x1F},      Range{0x7F, 0x9F},
                            Range{0xAD, 0xAD},      Range{0x61C, 0x61C},   Range{0x180E, 0x180E},
                            Range{0x200B, 0x200B},  Range{0x200E, 0x200F}, Range{0x2028, 0x202E},
                            Range{0x2060, 0x206F},  Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB},
                            Range{0xE0000, 0xE0FFF}};

bool is_unseen(char32_t value) {
  return std::any_of(unseen.begin(), unseen.end(), [&](const Range& range) {
    return value >= range.first && value <= range.last;
  });
}

}  // namespace

std::string visible_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t size = utf8::sequence_length(text);
    if (text.front() == '\x1B') {
      size = terminal_sequence(text);
    } else if (text.front() == '\r') {
      size = text.starts_with("\r\n") ? 2 : 1;
      out.push_back('\n');
    } else if (size == 0) {
      size = utf8::malformed_length(text);
      out.append(utf8::replacement);
    } else if (!is_unseen(utf8::code_point(text.substr(0, size)))) {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace millrace
