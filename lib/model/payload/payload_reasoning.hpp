// How a payload sets the reasoning of a model.
#pragma once

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/payload/payload.hpp"

namespace millrace::model {

// Reads the members of a payload that have to do with reasoning, in the vendors' spellings.
// Errors: invalid_body.
Result<void> read_reasoning(const json::Value& root, Reasoning& out);

}  // namespace millrace::model
