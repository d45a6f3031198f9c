// OpenAPI 3.0 says by `nullable: true` what JSON Schema says by a type.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::model {

// The schema in JSON Schema's words. Its root stays as it is, since answers are objects.
// Source: spec.openapis.org/oas/v3.0.3, Schema Object, `nullable`. Values in `enum` do not hold
// null back, since converters of validators leave it out there.
// Errors: invalid_json, json_too_deep.
Result<std::string> with_null_types(std::string schema_json);

}  // namespace millrace::model
