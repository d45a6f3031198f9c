// The text of a streamed answer as the pieces that its citations are of. State of a message, under
// its provider: `cited_text`, `{"begin", "size", "hash", "citations"}`, where `citations` says how
// many of the message's are of the piece.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "message/message.hpp"

namespace millrace::format {

// A piece of a message's text, and which of its citations are of it; none for text between others.
struct TextPiece {
  std::string_view text;
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] bool is_cited() const { return first < last; }
};

// None for a text without citations, and for one whose text or citations are others by now. No
// piece is white space alone.
std::vector<TextPiece> cited_pieces(const message::Message& message, std::string_view provider,
                                    std::string_view text);

}  // namespace millrace::format
