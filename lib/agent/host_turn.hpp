// A turn of a model that the host asks in the engine's stead: the question as the host reads it,
// and its answer as the step machine takes a turn.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// Rows that a run wrote, from `from` on, as those of chat completions: what the engine keeps beside
// them stays behind.
json::Tree plain_messages(const json::Tree& state_messages, std::size_t from);

// The conversation so far; rows that the run was given are as they were.
// Shape: {"messages": rows of chat completions}.
std::string host_request(const json::Tree& state_messages);

// Reads {"message": an assistant's message of chat completions, "usage"?: its usage}, or {"error":
// {"type", "message"}}. Calls get texts for arguments; those without a name are dropped. Members
// that are not known here come back in later questions.
// Errors: that of the answer; provider_error when there is no message.
Result<json::Tree> host_chunk(std::string_view json);

}  // namespace millrace::agent
