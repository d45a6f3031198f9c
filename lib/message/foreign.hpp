// Messages as the clients of other libraries write them, told in canonical words.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::message {

// What becomes of a part that is neither canonical nor known from elsewhere.
enum class UnknownParts : std::uint8_t { rejected, retained };

// The array `rows` with what is foreign in it made canonical: `tool_calls` and `tool_call_id` of
// OpenAI's rows, `parts` of the AI SDK's, pictures and files as OpenAI, Anthropic and the AI SDK
// write them. What is canonical, or no message at all, stays as it is.
// Errors: invalid_messages names the message and its member when the model would be asked without
// what it says: no content, or where they are refused a part of an unknown type or a medium without
// its bytes.
// Source: OpenAI Chat Completions; Anthropic Messages; AI SDK 5 and 6 (UIMessage, ModelMessage).
Result<std::string> adopt_foreign(const json::Value& rows,
                                  UnknownParts unknown = UnknownParts::rejected);

// Whether a part of a message is a medium in the shape of these, which AG-UI writes otherwise.
bool has_foreign_media(const json::Value& rows);

}  // namespace millrace::message
