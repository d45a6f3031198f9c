// The contents of Gemini's generateContent.
//
// Writes `{ "systemInstruction"?: ..., "contents": [...] }`, since the API takes the system prompt
// beside the contents; reads that object or a bare array of contents.
//
// Writing: consecutive messages of one side become one turn; the responses of function calls stand
// directly behind the turn that made them, with name and id of their call; empty texts, which the
// API refuses, are left out. Thought signatures go back with the part they came with: they are the
// encrypted value of a call, of an assistant message (its text) or of reasoning, as the JSON text
// `{"google":{"thought_signature":...}}`; reasoning without one stays behind. Provider state
// under "google": of a tool call `server_tool` and `server_tool_result` (executableCode and
// codeExecutionResult) and `call_id` (its id is the API's), of an assistant message `part` (parts
// that go back as they are), of a result `function_response` (the part, while its content is
// unchanged). Parts: see format/retained.hpp.
// Source: Gemini API reference, "Content" (2026).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_gemini(message::JsonBuilder& out, std::span<const message::Message> messages);

// The two halves of that object, for a request that has more members. The system half writes the
// member `systemInstruction`, or nothing when no message is of the system.
void write_gemini_system(message::JsonBuilder& out, std::span<const message::Message> messages);
//
// Gemini 3 refuses a turn whose first call has no signature; those of its models that make images
// also one that begins with a text or has an image without it. The API takes one value that says
// that a signature is not to be looked at: what the model did not make itself carries it.
enum class UnsignedParts : std::uint8_t { as_they_are, calls_excused, answers_excused };
void write_gemini_contents(message::JsonBuilder& out, std::span<const message::Message> messages,
                           UnsignedParts unsigned_parts = UnsignedParts::as_they_are);

// Errors: invalid_messages when `data` holds no array of contents.
Result<message::Messages> read_gemini(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
