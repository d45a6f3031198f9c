// The content of chat messages as parts.
#pragma once

#include <string_view>

#include "format/openai.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// Whether the API is the one whose state this is.
bool takes_state(const OpenAiWriteOptions& options, std::string_view owner);

// Appends `content`: a text, or a list of parts.
void write_content_parts(message::JsonBuilder& out, const message::Content& content,
                         const OpenAiWriteOptions& options);

}  // namespace millrace::format::openai
