// Which form of the answer a payload requests, in the spelling of any vendor.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/payload/payload.hpp"

namespace millrace::model {

// The value of Ollama's `format` for any JSON. Its other texts are formats of messages.
inline constexpr std::string_view any_json_format = "json";

// Reads `response_format`, Responses' `text.format` or Ollama's `format`.
// Errors: invalid_body, which names the member.
Result<void> read_answer_format(const json::Value& root, ResponseFormat& out);

}  // namespace millrace::model
