// What a message of LangChain has as its content.
#pragma once

#include <string>
#include <string_view>

#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::langgraph {

// Writes the member `content`: a text, or blocks where the message has parts or retains the blocks
// that its text is of.
void write_content(message::JsonBuilder& out, const message::Message& message);

// The names of a user's images, which their blocks have no place for, or "".
// Shape: `[{"index":1,"type":"image_url","filename":"a.png"}]`, with the index of the block.
// Source: @ag-ui/langgraph (2026), `additional_kwargs["ag-ui"].attachments`.
std::string image_names(const message::Message& message);

// Writes the arguments of a call as a member: as JSON where they are any, else as text.
void write_arguments(message::JsonBuilder& out, std::string_view key, const message::ToolCall& call,
                     bool as_text);

}  // namespace millrace::format::langgraph
