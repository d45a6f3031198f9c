// The messages of Cohere's chat of version 2.
//
// A list with the roles user, assistant, system and tool. Reasoning that stands before an assistant
// message, or behind the last one, goes back in it: as its `tool_plan` when it calls tools, else as
// a block of its content, unless its state says which of the two it was. Images travel by address
// or as data URLs; other media are left out. Provider state under "cohere": of reasoning
// `tool_plan` or `thinking`, of a message `content` (the list that its text came as) and `message`
// (further members), of a call `call` and `function` (theirs). Parts: see format/retained.hpp.
// Source: Cohere API reference, "Chat" v2 (2026).
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_cohere(message::JsonBuilder& out, std::span<const message::Message> messages);
// The same; gives how many answers have an order that the messages of the API cannot show.
std::size_t write_joined_cohere(message::JsonBuilder& out,
                                std::span<const message::Message> messages);

// Errors: invalid_messages when `data` is not an array.
Result<message::Messages> read_cohere(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
