// The types of the values that follow a JSON Schema, as far as it says them.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace millrace::model {

// Members of a schema that hold schemas by their names.
inline constexpr std::array<std::string_view, 5> schema_maps{
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas"};

// The types of the values that `const` or `enum` names, each once, or none.
// Lifetime: constants.
std::vector<std::string_view> types_of_values(const json::Value& schema);

// What `type` says, else what follows from the named values, else from `properties` or `items`;
// none when nothing says it.
// Lifetime: the schema's.
std::vector<std::string_view> types_of(const json::Value& schema);

bool accepts_null(const json::Value& schema);
bool is_null_schema(const json::Value& schema);
bool is_object_schema(const json::Value& schema);

}  // namespace millrace::model
