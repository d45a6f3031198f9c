// How much a schema may hold that constrains an answer of Claude, and any on Bedrock.
// Source: Anthropic, Structured outputs, schema complexity limits (2026); vercel/ai,
// packages/amazon-bedrock, bedrock-native-structured-output-limits.ts (2026).
#pragma once

#include <string_view>

namespace millrace::model {

// Whether the schema has at most 16 unions (`anyOf`, `oneOf`, a list of types) and 24 members of
// objects that are not required, at any depth. One that is no JSON has none.
bool is_within_limits(std::string_view schema_json);

}  // namespace millrace::model
