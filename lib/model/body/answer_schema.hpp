// The schema that a chat's answer shall follow: who takes one, and what the prompt says where
// nobody does.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

struct AnswerSchema {
  std::string sent;         // what constrains the answer, or ""
  std::string instruction;  // what the prompt says instead, or ""
};

// Whether `json_schema` is known, by the provider's quirks.
bool takes_json_schema(const ProviderConfig& config, std::string_view model);

// Whether an answer may have a format beside the payload's tools.
bool takes_format(const ProviderConfig& config, const ChatPayload& payload);

// What the prompt says of the schema to a model that takes none, for this reason, or "".
std::string prompt_schema(const Draft& draft,
                          std::string_view reason = "The model takes no schema here");

// For APIs that take objects only when they are closed (Anthropic's and Bedrock's). A model that
// takes no schema, or not this one, is told of it.
// Errors: invalid_json, json_too_deep.
Result<AnswerSchema> answer_schema(const Draft& draft, bool takes_schemas);

// The messages with one more system prompt behind those that they begin with.
message::Messages with_instruction(std::span<const message::Message> messages,
                                   std::string_view instruction);

}  // namespace millrace::model
