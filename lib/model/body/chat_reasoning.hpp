// How servers of OpenAI's chat API are told to reason.
#pragma once

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Whether the server takes a setting of what becomes of earlier reasoning.
bool takes_clear_thinking(const Draft& draft);

// Writes the members that switch reasoning in the server's way; what it cannot be told is noted.
void write_chat_reasoning(message::JsonBuilder& out, const Draft& draft);

}  // namespace millrace::model
