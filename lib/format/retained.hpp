// Blocks of a provider that canonical content shows in part, or by their words alone. The block is
// kept beside what is shown, and goes to its own provider again, unchanged, while it still shows
// the same.
//
// Of a content part: `metadata.millrace.providerState`, one entry of the kind `block`. Of a message
// whose content is one text: the kind `list`, the lengths in bytes of the texts it was joined from.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format {

inline constexpr std::string_view block_kind = "block";
inline constexpr std::string_view list_kind = "list";

// The words in a block of any shape, in their order, a line for each; "" for one without words.
std::string words_of(const json::Value& block);
// The words of a list's blocks, joined as they are; a string as it is.
std::string words_of_list(const json::Value& list);

// Whether an object has a member that is none of these and not null.
bool has_more_than(const json::Value& object, std::initializer_list<std::string_view> members);

// The member of a part's metadata that holds a block, as `"millrace":{...}`.
std::string block_member(std::string_view provider, std::string_view block_json);

// Appends a text part that shows the words of a block and holds the block.
void write_stand_in(message::JsonBuilder& out, std::string_view provider, const json::Value& block);

// The provider's block that a part holds, or nothing.
json::Value held_block(const json::Value& part, std::string_view provider);
// The same of a text part whose words are still those of the block.
json::Value stand_in_block(const json::Value& part, std::string_view provider);

// Appends a block whose string at `path` is this one: bytes are kept in the part alone.
void write_with_bytes(message::JsonBuilder& out, const json::Value& block,
                      std::span<const std::string_view> path, std::string_view bytes);
// The JSON text of a block without the member at `path`.
std::string without_bytes(const json::Value& block, std::span<const std::string_view> path);

// Keeps that the text of a message was a list of text parts; nothing for any other list.
void keep_list(message::Metadata& metadata, std::string_view provider, const json::Value& list);
// The texts that the text of a message was joined from; none when it was no list, or is another
// text by now.
std::vector<std::string_view> listed_texts(const message::Metadata& metadata,
                                           std::string_view provider, std::string_view text);
// Appends these as a list of text parts under `key`; false when there are none.
bool write_list(message::JsonBuilder& out, std::string_view key, const message::Metadata& metadata,
                std::string_view provider, std::string_view text);

}  // namespace millrace::format
