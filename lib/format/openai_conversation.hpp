// The items of OpenAI's Responses and Conversations APIs.
//
// Writes a flat array of items; reads an array or a list object `{ "data": [...] }`. A reasoning
// item becomes one reasoning message a part ("rs_1", "rs_1:1" ...), the first with the encrypted
// content, and goes back when it was encrypted or its state says so. Provider state under
// "openai_responses": `item` says what an item was or had besides (of a call
// `{"type":"custom_tool_call"}`,
// `{"type":"mcp_call",...}` or a `namespace`; of an assistant message `phase`; of a reasoning
// message that it goes back although it was not encrypted, and as which type of text); on an
// assistant message a state whose kind is an item's type is that item, which has no canonical form
// and goes back before the message.
// Source: OpenAI API reference, Responses and Conversations (2026).
#pragma once

#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "format/openai_conversation_reasoning.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_openai_conversation(message::JsonBuilder& out,
                               std::span<const message::Message> messages);
// `takes_videos`: the server has a part for them, as Volcengine's has.
void write_openai_items(message::JsonBuilder& out, std::span<const message::Message> messages,
                        PlainReasoning plain, bool takes_videos = false);

// Errors: invalid_messages when `data` is neither an array nor a list object.
Result<message::Messages> read_openai_conversation(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
