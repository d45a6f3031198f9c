// What a message of LangChain has as its content.
#pragma once

#include <string_view>

#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::langgraph {

// Writes the member `content`: a text, or blocks where the message has parts or retains the blocks
// that its text is of.
void write_content(message::JsonBuilder& out, const message::Message& message);

// Writes the arguments of a call as a member: as JSON where they are any, else as text.
void write_arguments(message::JsonBuilder& out, std::string_view key, const message::ToolCall& call,
                     bool as_text);

}  // namespace millrace::format::langgraph
