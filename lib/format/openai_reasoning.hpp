// The reasoning of a chat message, as the servers take it.
#pragma once

#include <string>
#include <string_view>

#include "format/openai.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// The reasoning that stands before an assistant message.
struct ReasoningPart {
  std::string text;
  std::string_view member;   // where it goes, or "" when it stays behind
  std::string mistral = {};  // members beside Mistral's own, as `{"mistral":{...}}`
  bool is_unsigned = false;  // some of it has no state of the provider that made it
};

void add_reasoning(ReasoningPart& reasoning_part, const message::Message& reasoning);

// True for reasoning that no note names elsewhere: what is signed is named as what another provider
// made.
bool is_unnamed(const ReasoningPart& reasoning_part);

// Mistral takes reasoning as a part of the content, before the text.
void write_mistral_content(message::JsonBuilder& out, const message::Message& message,
                           const ReasoningPart& reasoning_part);

// Gives whether the message has the reasoning.
bool write_reasoning_part(message::JsonBuilder& out, const message::Message& message,
                          const ReasoningPart& reasoning_part, const OpenAiWriteOptions& options);

}  // namespace millrace::format::openai
