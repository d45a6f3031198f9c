// Conversations with calls for an API that takes these only beside a list of tools.
#pragma once

#include <span>

#include "message/message.hpp"

namespace millrace::model {

bool has_calls(std::span<const message::Message> messages);

// The messages with each call and its result, or that it has none, as words of the user, so that a
// turn without tools (a summary, the last answer of an agent) still knows what was found out.
message::Messages with_calls_as_text(std::span<const message::Message> messages);

}  // namespace millrace::model
