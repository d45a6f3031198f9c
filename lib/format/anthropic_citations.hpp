// Text of Claude's answers with its citations.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format {

// Appends a text block; of its citations what a request may hold.
void write_cited_block(message::JsonBuilder& out, const json::Value& block);

// Appends the text of a streamed answer as the blocks that it came in, each with its citations and
// further members. False, and nothing is written, for a text without either and for one that was
// changed.
bool write_cited_text(message::JsonBuilder& out, const message::Message& message,
                      std::string_view text);

}  // namespace millrace::format
