// The text of a streamed answer as the pieces that its citations are of. State of a message, under
// its provider: `cited_text`, `{"begin", "size", "hash", "citations", "members"?}`, where
// `citations` says how many of the message's are of the piece, and `members` are further members of
// the block that it came as.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "message/message.hpp"

namespace millrace::format {

// A piece of a message's text, which of its citations are of it, and its further members; none for
// text between others.
struct TextPiece {
  std::string_view text;
  std::size_t first = 0;
  std::size_t last = 0;
  std::string members = {};  // JSON text of an object, or ""
  [[nodiscard]] bool is_cited() const { return first < last; }
};

// None for a text without citations and further members, and for one whose text or citations are
// others by now. No piece is white space alone.
std::vector<TextPiece> cited_pieces(const message::Message& message, std::string_view provider,
                                    std::string_view text);

}  // namespace millrace::format
