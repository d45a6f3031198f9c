// Further members of chat messages and their calls, which go back to the API as state.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// Keeps the members of a message that its reader passes over, and its role where that is none of
// ours.
void keep_message_members(message::Message& message, const json::Value& value, bool has_own_role);
// Those of a call and of its function, custom tool or the form before tool calls: `body` is the
// member `body_key`.
void keep_call_members(message::ToolCall& call, const json::Value& value, std::string_view body_key,
                       const json::Value& body);

}  // namespace millrace::format::openai
