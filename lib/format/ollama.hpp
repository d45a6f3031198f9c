// The messages of Ollama's own chat API.
//
// A list with the roles user, assistant, system and tool. Arguments of calls are objects; images
// stand beside the text as base64, media by address are left out; reasoning goes back as the
// `thinking` of the assistant message that it stands before, or of the one before it. Text behind
// calls is a message of its own. Provider state under "ollama": of a message `message` (further
// members), of a call `call` and `function` (theirs).
// Source: Ollama API reference, docs/api.md of version 0.12 (2026).
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_ollama(message::JsonBuilder& out, std::span<const message::Message> messages);
// The same; gives how many answers have an order that the messages of the API cannot show.
std::size_t write_joined_ollama(message::JsonBuilder& out,
                                std::span<const message::Message> messages);

// Errors: invalid_messages when `data` is not an array.
Result<message::Messages> read_ollama(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
