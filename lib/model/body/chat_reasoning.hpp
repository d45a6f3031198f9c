// How servers of OpenAI's chat API are told to reason.
#pragma once

#include "message/json_builder.hpp"
#include "model/dialects.hpp"

namespace millrace::model {

// Writes the members that switch reasoning in the server's way; what it cannot be told is noted.
void write_chat_reasoning(message::JsonBuilder& out, const Draft& draft);

}  // namespace millrace::model
