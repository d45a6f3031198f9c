// A JSON Schema in the dialect that a vendor's constrained decoding takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::model {

enum class SchemaStyle : std::uint8_t {
  plain,   // as it is
  strict,  // OpenAI: objects closed, every member required, what was optional may be null
  closed,  // Anthropic: objects closed, no bounds, nothing that refers to itself
  gemini,  // Gemini: few bounds, references written out, enumerations of strings and numbers
};

// The schema in this style, or nothing when it cannot be said in it (an object of any members, a
// condition, a schema that refers to itself): then the schema goes without constrained decoding.
// What a style leaves out is written into the description, so that the model still knows.
// Errors: invalid_json, json_too_deep.
Result<std::optional<std::string>> styled_schema(std::string_view schema_json, SchemaStyle style);

// What tells a model of a schema that its API does not take.
std::string schema_instruction(std::string_view schema_json);

}  // namespace millrace::model
