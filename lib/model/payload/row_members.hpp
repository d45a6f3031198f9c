// Members of messages that belong to a program's own rows: no format says that an API knows them.
#pragma once

#include <vector>

#include "message/message.hpp"
#include "message/shared_messages.hpp"
#include "model/payload/request.hpp"

namespace millrace::model {

// Takes further members out of messages and calls, since APIs reject them. The names of a message's
// stay with it: the state { provider: "millrace", kind: "left_out", json: a list of them }.
void leave_out_row_members(message::Messages& messages);

// Takes the names away and notes them, each once, "tool_calls.function.<name>" within the function
// of a call; at most 64.
void note_row_members(message::SharedMessages& messages, std::vector<Note>& notes);

}  // namespace millrace::model
