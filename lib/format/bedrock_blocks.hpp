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

// Kinds of state: further members of a result, and the blocks of an answer whose order its text
// alone does not give.
inline constexpr std::string_view result_kind = "tool_result";
inline constexpr std::string_view blocks_kind = "blocks";

// Whether Bedrock runs the tool of a toolUse. Nova 2 gives the caller's a type as well: `tool_use`.
bool is_server_use(const json::Value& use);

// Whether the kind has a format for the medium's type.
bool knows_format(const message::Media& media);

// The names of a conversation's documents: the API takes each once, in whichever turn it stands.
class DocumentNames {
 public:
  // A name that the API accepts: the file's own, with a number from the second one on.
  std::string next(std::string_view filename);
  // Whether no document has the name yet.
  [[nodiscard]] bool is_new(std::string_view name) const;

 private:
  std::unordered_map<std::string, std::size_t> counts_;
};

// A content part as the JSON text of a block, or "" for one that the API cannot take.
std::string block_of(const json::Value& part, DocumentNames& names, json::Surrogates surrogates);

// Appends a block of a user or of a result as a part: a text, a medium, or the words of another
// block.
void read_part(message::JsonBuilder& out, const json::Value& block);

// Whether a medium came from a block of this API.
bool is_held(const message::Media& media);

// What a block of an answer adds to its text.
std::string words_of_answer(const json::Value& block);

}  // namespace millrace::format::bedrock
