// How Gemini's models are told to think: by a level, or by a budget.
#pragma once

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Writes `thinkingConfig`, a member of `generationConfig`; what the model cannot be told is noted.
void write_gemini_thinking(message::JsonBuilder& out, const Draft& draft);

}  // namespace millrace::model
