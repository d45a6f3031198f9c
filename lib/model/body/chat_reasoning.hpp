// How servers of OpenAI's chat API are told to reason.
#pragma once

#include <string>
#include <string_view>

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// What the member `thinking` says of whether the model reasons: "enabled", "disabled", "auto", or
// "" for nothing.
std::string_view switch_of(const Draft& draft);
// The effort beside that switch, or "" when none is to be sent.
std::string switched_effort(const Draft& draft);

// Whether the server takes a setting of what becomes of earlier reasoning.
bool takes_clear_thinking(const Draft& draft);

// Writes the members that switch reasoning in the server's way; what it cannot be told is noted.
void write_chat_reasoning(message::JsonBuilder& out, const Draft& draft);

}  // namespace millrace::model
