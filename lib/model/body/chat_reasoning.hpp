// How servers of OpenAI's chat API are told to reason.
#pragma once

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Whether a server that takes the word what becomes of earlier thoughts as a member of its own
// serves GLM, the model that knows it.
bool is_glm_by_member(const Draft& draft);

// Whether the server is Volcengine's: it has `thinking` in the Responses API as well, and a word
// for models that decide themselves.
// Source: volcengine/volcengine-python-sdk, ThinkingType (2026).
bool is_volcengine(const Draft& draft);

// Whether it can be said at all what becomes of earlier thoughts.
bool takes_clear_thinking(const Draft& draft);

// Writes the members that switch reasoning in the server's way; what it cannot be told is noted.
void write_chat_reasoning(message::JsonBuilder& out, const Draft& draft);

}  // namespace millrace::model
