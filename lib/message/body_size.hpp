// How much one request may hold: bounds that are checked before anything is made of it. A text of
// eight megabytes can hold hundreds of thousands of rows, and each costs more than its bytes.
#pragma once

#include <cstddef>

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::message {

// Messages of a request, their parts and their calls, together.
inline constexpr std::size_t most_pieces = 10'000;
// No provider takes half as many.
inline constexpr std::size_t most_tools = 1024;

// `messages` are of any format, or what should be messages.
// Errors: body_too_large.
Result<void> check_size(const json::Value& messages);

// Errors: body_too_large.
Result<void> check_tool_count(const json::Value& tools);

}  // namespace millrace::message
