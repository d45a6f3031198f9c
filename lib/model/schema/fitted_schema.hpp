// What one vendor refuses in a JSON Schema, in words that it takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::model {

struct SchemaRules {
  bool const_as_enum = false;     // Gemini: `const` is not read, `enum` with one value is
  bool no_lookaround = false;     // OpenAI, strict: patterns that look around are refused
  bool prefix_items = false;      // Moonshot: a list in `items` is refused, `prefixItems` is not
  bool type_in_branches = false;  // Moonshot: `type` beside `anyOf` is refused, inside it is not
};

struct FittedSchema {
  std::string json;
  std::size_t patterns_left_out = 0;
};

// The schema with what the rules name in the other words. A text that is no JSON stays as it is.
FittedSchema fitted_schema(std::string_view schema_json, const SchemaRules& rules);

}  // namespace millrace::model
