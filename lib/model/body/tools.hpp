// Tools in the spelling of OpenAI's APIs, shared by the dialects that took it over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Writes the members of a function: name, description, parameters under `schema_key`, and strict
// where that is known.
void write_function(message::JsonBuilder& out, const Draft& draft, const Tool& tool,
                    std::string_view schema_key, bool knows_strict = true);

// A schema as the provider takes it; what a strict one cannot hold is noted under `what`.
std::string sent_schema(const Draft& draft, std::string_view what, std::string_view schema,
                        bool is_strict);

// Notes that tools which demand it are not held to their schemas.
void note_no_strict(const Draft& draft);

// Where the members of a tool stand: beside its type (Responses), or under it (Chat Completions).
enum class ToolShape : std::uint8_t { flat, nested };

// Writes `{"type":"function","function":{...}}`, or the provider's own tool as it is.
void write_chat_tool(message::JsonBuilder& out, const Draft& draft, const Tool& tool);

// Writes a tool that takes a text as OpenAI's `custom`.
void write_text_tool(message::JsonBuilder& out, const Draft& draft, const Tool& tool,
                     ToolShape shape);

// Adds members to the object that is open.
void write_members(message::JsonBuilder& out, const FurtherMembers& members);

// Writes `tool_choice` for a certain tool, or for another of OpenAI's choices.
void write_certain_choice(message::JsonBuilder& out, const ChatPayload& payload, ToolShape shape);

// Notes members of a choice that an API has as a word.
void note_choice_members(const Draft& draft);

// The tool that the choice names, or an error.
// Errors: invalid_body when no tool has this name, or a choice is made without tools.
Result<void> check_tools(const Draft& draft);

}  // namespace millrace::model
