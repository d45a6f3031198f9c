// What a host answers to a server's questions: completed, and checked before it is sent.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::mcp {

// The result as it is sent. `schema_json` is the form's of an elicitation, or "": what a person
// left out of an accepted form gets the schema's default, and the content then has to follow the
// schema. Answers to methods that are not known here stay as they are.
// Errors: invalid_argument for an answer that is none to this method.
// Source: Model Context Protocol 2025-11-25, "Elicitation", "Sampling" and "Roots".
Result<std::string> checked_answer(std::string_view method, std::string_view schema_json,
                                   std::string_view result_json);

}  // namespace millrace::mcp
