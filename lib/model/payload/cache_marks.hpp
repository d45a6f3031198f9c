// The caller's own marks of what is to be cached: `cache_control` of parts, as OpenRouter and
// Alibaba document it for messages of OpenAI's shape, of calls, and of messages, whose content may
// be one text.
// Source: https://openrouter.ai/docs/features/prompt-caching; Alibaba Cloud Model Studio, "Context
// cache" (2026); for calls and results Claude docs, "Prompt caching" (2026).
#pragma once

#include "base/json.hpp"
#include "message/message.hpp"

namespace millrace::model {

// Keeps them as the format of Anthropic's API keeps them; `value` is what the message was read
// from. A result keeps the mark of its last part that has one.
void restore_cache_marks(message::Message& message, const json::Value& value);

// Whether messages of OpenAI's shape have such marks.
bool has_cache_marks(const json::Value& messages);

}  // namespace millrace::model
