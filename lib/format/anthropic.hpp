// The messages of Anthropic's Messages API.
//
// Writes `{ "system"?: ..., "messages": [...] }`, since the API takes the system prompt beside the
// messages; reads that object or a bare array of messages.
//
// Writing: consecutive messages of one side become one turn; the results of tool calls stand
// directly behind the turn that made them; call ids are made acceptable and distinct; empty texts,
// which the API refuses, and media it cannot take are left out. Reasoning goes back when it has a
// signature of this API. Provider state under "anthropic": of a tool call `server_tool`,
// `server_tool_result` (the blocks without id, name, input, content) and `caller`; of an assistant
// message `compaction` and `content_block` (blocks that are written before its text) and `text`
// (its blocks in their order, written back while their text is unchanged), `cited_text` (which
// citations and further members are of which piece of its text); of a call and a result
// `tool_use` and `tool_result`, of reasoning `members` (further members); of a system message
// `cache_control`, and `system_turn` where it is a turn within the conversation. Parts: see
// format/retained.hpp.
// Source: Anthropic API reference, Messages (2026).
#pragma once

#include <span>
#include <string>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"
#include "message/parts.hpp"

namespace millrace::format {

void write_anthropic(message::JsonBuilder& out, std::span<const message::Message> messages);

// The two halves of that object, for a request that has more members. The system half writes the
// member `system`, or nothing when no message is of the system.
void write_anthropic_system(message::JsonBuilder& out, std::span<const message::Message> messages);
void write_anthropic_messages(message::JsonBuilder& out,
                              std::span<const message::Message> messages);

// Whether the API takes a document: a PDF, text by value, an upload.
bool anthropic_takes(const message::Media& document);

// Errors: invalid_messages when `data` holds no array of messages.
Result<message::Messages> read_anthropic(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
