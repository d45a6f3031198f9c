// Arguments of a call that a model wrote nearly as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::json {

struct Repaired {
  std::string json;  // an object
  std::string what;  // was wrong: "a trailing comma, single quotes"
};

// The object that a text means which is complete but no JSON: with a comma behind the last element,
// single quotes, names without quotes, Python's literals, line breaks in a string, in a code fence,
// encoded twice, written twice the same, behind an empty object, or with a special token behind it.
// Nothing for JSON, for a text that was cut off, and where more than one reading is possible. Time:
// in proportion to the text.
std::optional<Repaired> repair_object(std::string_view text);

}  // namespace millrace::json
