// The reasoning settings of a Gemini request: a level, or a budget.
#pragma once

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Writes `thinkingConfig`, a member of `generationConfig`; what the model does not take is noted.
void write_gemini_thinking(message::JsonBuilder& out, const Draft& draft);

}  // namespace millrace::model
