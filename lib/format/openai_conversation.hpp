// The items of OpenAI's Responses and Conversations APIs.
//
// Writes a flat array of items; reads an array or a list object `{ "data": [...] }`. Reasoning
// items become reasoning messages and go back with their encrypted content. Provider state under
// "openai_responses": of a tool call `custom_tool_call`, or `mcp_call` (what the item holds besides
// id, name, arguments, output and error); of an assistant message `phase` and `item` (an item that
// stood before it and has no canonical form); of a reasoning message `reasoning_text` (its text was
// not a summary) and `reasoning` (it was not encrypted and goes back all the same).
// Source: OpenAI API reference, Responses and Conversations (2026).
#pragma once

#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_openai_conversation(message::JsonBuilder& out,
                               std::span<const message::Message> messages);

// Errors: invalid_messages when `data` is neither an array nor a list object.
Result<message::Messages> read_openai_conversation(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
