#include "format/anthropic_citations.hpp"

#include <cstddef>

#include "format/anthropic_blocks.hpp"
#include "format/cited_text.hpp"
#include "format/further_members.hpp"

namespace millrace::format {
namespace {

using message::JsonBuilder;
using message::Message;

// The API gives the id of a cited file, and takes none.
void write_citation(JsonBuilder& out, const json::Value& citation) {
  if (!citation["type"].string().ends_with("_location")) return;
  out.open_object();
  for (const auto& [key, value] : citation.members()) {
    if (key != "file_id") out.value(key, value);
  }
  out.close_object();
}

void write_piece(JsonBuilder& out, const TextPiece& piece, const Message& message) {
  out.open_object();
  out.text("type", "text");
  out.text("text", piece.text);
  if (piece.is_cited()) out.open_array("citations");
  for (std::size_t at = piece.first; at < piece.last; ++at) {
    json::Document document(message::depth_limit);
    if (const auto citation = document.parse(message.metadata.citations[at])) {
      write_citation(out, citation.value());
    }
  }
  if (piece.is_cited()) out.close_array();
  if (!piece.members.empty()) {
    json::Document document(message::depth_limit);
    if (const auto members = document.parse(piece.members)) {
      write_further(out, members.value(), {"type", "text", "citations"});
    }
  }
  out.close_object();
}

}  // namespace

void write_cited_block(JsonBuilder& out, const json::Value& block) {
  out.open_object();
  for (const auto& [key, value] : block.members()) {
    if (key != "citations" || !value.is_array()) {
      out.value(key, value);
      continue;
    }
    out.open_array(key);
    for (const json::Value citation : value.items()) write_citation(out, citation);
    out.close_array();
  }
  out.close_object();
}

bool write_cited_text(JsonBuilder& out, const Message& message, std::string_view text) {
  const auto pieces = cited_pieces(message, anthropic_provider, text);
  for (const TextPiece& piece : pieces) write_piece(out, piece, message);
  return !pieces.empty();
}

}  // namespace millrace::format
