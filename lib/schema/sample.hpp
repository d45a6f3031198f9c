// A value that follows a schema, for a model that stands in for a real one.
#pragma once

#include <string>

#include "base/json.hpp"

namespace millrace::schema {

// JSON text of a value that follows the schema as far as its keywords show a way: const, default,
// examples, enum, type, properties, items, bounds, common formats, the first of anyOf or oneOf, all
// of allOf, and references into the schema itself. A pattern is not followed.
std::string sample_json(const json::Value& schema);

}  // namespace millrace::schema
