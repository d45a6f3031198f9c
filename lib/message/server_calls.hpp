// Calls of tools that the provider runs itself.
#pragma once

#include <span>
#include <string>
#include <unordered_set>

#include "message/message.hpp"

namespace millrace::message {

// Whether the provider ran the tool.
bool is_server_call(const ToolCall& call);

// Whether a program that this call runs made a call in the answer at the end of these messages, and
// waits for its result. Source: Anthropic's programmatic tool calling.
bool is_at_work(const ToolCall& program, std::span<const Message> messages);

// Leaves out the callers that are these programs, which a request does not hold: the API rejects
// "source tool ... not found for tool use block".
void erase_callers(Messages& messages, const std::unordered_set<std::string>& programs);

}  // namespace millrace::message
