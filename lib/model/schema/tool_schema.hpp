// Schemas of tools in the shape that all providers take.
#pragma once

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/schema/root_schema.hpp"

namespace millrace::model {

// The schema as JSON text. Some that JSON Schema allows are refused by one provider or another:
// `true` and `false` in the place of a schema of an element or a member become `{}`, `items`
// without a `type` are an array's, an `enum` without a value is left out, and the root is one
// object.
// Errors: json_too_deep, for one whose branches refer to each other.
Result<RootSchema> tool_schema(const json::Value& schema);

}  // namespace millrace::model
