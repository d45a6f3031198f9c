// Writes the system prompt of Amazon Bedrock's Converse.

#include <string>
#include <utility>

#include "format/bedrock_blocks.hpp"
#include "format/bedrock_cache.hpp"
#include "format/bedrock_converse.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/json_builder.hpp"

namespace millrace::format {

using message::JsonBuilder;
using message::Message;
using message::Role;

void write_bedrock_converse_system(JsonBuilder& out, std::span<const Message> messages,
                                   bool cache_points) {
  bool any = false;
  for (const Message& message : messages) {
    if (message.role != Role::system && message.role != Role::developer) continue;
    const std::string text = message::text_of(message.content);
    const auto* state = message.metadata.find(bedrock::provider, block_kind);
    json::Document document(message::depth_limit);
    const auto block = document.parse(state == nullptr ? "" : state->json);
    const bool is_block = block && words_of(block.value()) == text;
    if (!is_block && is_blank(text)) continue;
    if (!std::exchange(any, true)) out.open_array("system");
    if (is_block) {
      out.value(block.value());
      continue;
    }
    const std::string marked = cache_points ? bedrock::marked_texts(message.metadata, text) : "";
    if (!marked.empty()) {
      out.written(marked);
      continue;
    }
    out.open_object();
    out.text("text", text);
    out.close_object();
    if (cache_points) bedrock::write_cache_point(out, message.metadata);
  }
  if (any) out.close_array();
}

}  // namespace millrace::format
