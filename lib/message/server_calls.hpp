// Calls of tools that the provider runs itself.
#pragma once

#include <span>

#include "message/message.hpp"

namespace millrace::message {

// Whether the provider ran the tool.
bool is_server_call(const ToolCall& call);

// Whether a program that this call runs made a call in the answer at the end of these messages, and
// waits for its result. Source: Anthropic's programmatic tool calling.
bool is_at_work(const ToolCall& program, std::span<const Message> messages);

// Whether a call names a program as its caller that is not among the messages before it.
bool has_orphan_callers(std::span<const Message> messages);
// Leaves these callers out.
void erase_orphan_callers(Messages& messages);

}  // namespace millrace::message
