// Tools in the spelling of OpenAI's APIs, shared by the dialects that took it over.
#pragma once

#include <string_view>

#include "message/json_builder.hpp"
#include "model/dialects.hpp"

namespace millrace::model {

// Writes the members of a function: name, description, parameters under `schema_key`, and strict
// where that is known.
void write_function(message::JsonBuilder& out, const Tool& tool, std::string_view schema_key,
                    bool knows_strict = true);

// Notes that tools which demand it are not held to their schemas.
void note_no_strict(const Draft& draft);

// Writes `{"type":"function","function":{...}}`, or the provider's own tool as it is.
void write_chat_tool(message::JsonBuilder& out, const Tool& tool);

// The tool that the choice names, or an error.
// Errors: invalid_body when no tool has this name, or a choice is made without tools.
Result<void> check_tools(const Draft& draft);

}  // namespace millrace::model
