// Single content blocks of Anthropic's Messages API.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format {

inline constexpr std::string_view anthropic_provider = "anthropic";

// Where the bytes of a medium are in its block.
inline constexpr std::array<std::string_view, 2> anthropic_bytes{"source", "data"};

// Kinds of state that hold what a canonical message has no member for: further members of a call
// and of a result, and a turn of the system within the conversation.
inline constexpr std::string_view call_members_kind = "tool_use";
inline constexpr std::string_view result_members_kind = "tool_result";
inline constexpr std::string_view system_turn_kind = "system_turn";
// State: its further members, an object.
inline constexpr std::string_view system_members_kind = "system_members";

void write_text_block(message::JsonBuilder& out, std::string_view text,
                      const json::Value& cache_control = {});

// Where the caller's `cache_control` is kept of a message or a call whose content is one text: of
// its end, or of pieces of the text, as a list of text blocks.
inline constexpr std::string_view cache_control_kind = "cache_control";
inline constexpr std::string_view cache_blocks_kind = "cache_blocks";

// The text of the message as text blocks with the caller's marks, as a JSON array, or "" when it
// has none.
std::string marked_blocks(const message::Message& message, std::string_view text);

// A content part as the text of a block, or "" for a part that the API cannot take.
std::string block_of(const json::Value& part, json::Surrogates surrogates);

// The texts among blocks of a turn.
std::string texts_of(const json::Value& blocks);

// Whether a message of the system was a turn within the conversation.
bool is_system_turn(const message::Message& message);

// A text block of a type and a text alone.
bool is_bare_text(const json::Value& block);
// Appends a block as a content part; one that no part shows is held by a stand-in.
void read_block_part(message::JsonBuilder& out, const json::Value& block);

// The block of reasoning that is signed; a signature that is a redacted block goes as that block.
void write_thinking(message::JsonBuilder& out, const message::Message& reasoning);

}  // namespace millrace::format
