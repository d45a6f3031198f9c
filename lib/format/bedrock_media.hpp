// Media blocks of Bedrock's Converse: each kind has its list of formats.
#pragma once

#include <string>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/parts.hpp"

namespace millrace::format::bedrock {

// Whether the kind has a format for the medium's type.
bool knows_format(const message::Media& media);

// A content part as the JSON text of a block, or "" for one that the API cannot take.
std::string block_of(const json::Value& part, json::Surrogates surrogates);

// Appends an image, document or video block as AG-UI's part; false for any other block.
bool read_media_block(message::JsonBuilder& out, const json::Value& block);

}  // namespace millrace::format::bedrock
