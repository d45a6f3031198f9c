// Single blocks of Bedrock's Converse; each kind of media has its list of formats.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/parts.hpp"

namespace millrace::format::bedrock {

inline constexpr std::string_view provider = "bedrock";

// Whether Bedrock runs the tool of a toolUse. Nova 2 gives the caller's a type as well: `tool_use`.
bool is_server_use(const json::Value& use);

// Whether the kind has a format for the medium's type.
bool knows_format(const message::Media& media);

// The names of a conversation's documents: the API takes each once, in whichever turn it stands.
class DocumentNames {
 public:
  // A name that the API accepts: the file's own, with a number from the second one on.
  std::string next(std::string_view filename);

 private:
  std::unordered_map<std::string, std::size_t> counts_;
};

// A content part as the JSON text of a block, or "" for one that the API cannot take.
std::string block_of(const json::Value& part, DocumentNames& names, json::Surrogates surrogates);

// Appends an image, document or video block as AG-UI's part; false for any other block.
bool read_media_block(message::JsonBuilder& out, const json::Value& block);

}  // namespace millrace::format::bedrock
