// The bodies of chats, one function a dialect. Rows of dialects.cpp name them.
#pragma once

#include <string>

#include "base/result.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Errors, of each: capability_not_supported, invalid_body, json_too_deep.
Result<std::string> openai_chat_body(const Draft& draft);
Result<std::string> openai_responses_body(const Draft& draft);
Result<std::string> anthropic_body(const Draft& draft);
Result<std::string> vertex_anthropic_body(const Draft& draft);
Result<std::string> gemini_body(const Draft& draft);
Result<std::string> ollama_body(const Draft& draft);
Result<std::string> bedrock_converse_body(const Draft& draft);
Result<std::string> cohere_body(const Draft& draft);

}  // namespace millrace::model
