// Shapes of chat messages that only the server that gave them, or its vendor, gets again: refusals,
// and calls in the form before tool calls.
#pragma once

#include <string>

#include "format/openai.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// Whether the text of an answer goes back as its refusal.
bool is_refusal(const message::Message& message, const OpenAiWriteOptions& options);

// Whether the only call of an answer goes back in the form before tool calls.
bool is_function_call(const message::Message& message, const OpenAiWriteOptions& options);

// The name, as JSON text, of the function whose result a message is in that form, or "". `last` is
// the message with calls before it.
std::string function_of(const message::Message& message, const message::Message* last,
                        const OpenAiWriteOptions& options);

}  // namespace millrace::format::openai
