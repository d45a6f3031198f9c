// The shapes of the messages of each format.
#pragma once

#include "format/shape.hpp"

namespace millrace::format::shapes {

extern const Shape chat_message;
extern const Shape response_item;
extern const Shape anthropic_turn;
extern const Shape anthropic_block;
extern const Shape gemini_turn;
extern const Shape gemini_system;
extern const Shape bedrock_turn;
extern const Shape bedrock_block;
extern const Shape cohere_message;
extern const Shape ollama_message;
extern const Shape langgraph_message;

}  // namespace millrace::format::shapes
