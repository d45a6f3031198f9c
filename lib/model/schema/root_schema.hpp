// The schema of a tool's arguments as one object. OpenAI and Anthropic refuse a union, a reference
// or a list of values at its root, even beside `type: object`.
#pragma once

#include <string>

#include "base/json.hpp"

namespace millrace::model {

struct RootSchema {
  std::string json;
  // What the object says less exactly than the schema did, as JSON, or "".
  std::string described;
};

// Whether the schema is no plain object at its root.
bool needs_one_object(const json::Value& schema);

// The schema with its branches in one object: the members of all, of which those are required
// that every branch requires, and one `enum` for constants in which they differ.
RootSchema one_object(const json::Value& schema);

}  // namespace millrace::model
