// The caller's marks of what is to be cached, as points of Bedrock's cache behind it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::bedrock {

// The block for a mark (`cache_control`), or "" without one.
std::string cache_point(const json::Value& mark);
// Writes the point for the mark of a message or a call, if it has one.
void write_cache_point(message::JsonBuilder& out, const message::Metadata& metadata);

// The texts of a message with their points, where marks stand inside of its text; or "". Blocks
// with commas between them.
std::string marked_texts(const message::Metadata& metadata, std::string_view text);

}  // namespace millrace::format::bedrock
