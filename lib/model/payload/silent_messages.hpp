// Messages without content, and histories of system prompts alone: APIs reject them.
#pragma once

#include <vector>

#include "message/shared_messages.hpp"
#include "model/payload/request.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {

// Gives Claude a word where a tool returned nothing.
void fill_empty_results(message::SharedMessages& messages);

// Takes out messages without content and media without bytes or address; adds notes that count
// them.
void drop_silent(message::SharedMessages& messages, const Quirks& quirks, std::vector<Note>& notes);

// Gives the last system prompt to the user where a history has no other message; adds a note.
void add_user_turn(message::SharedMessages& messages, std::vector<Note>& notes);

}  // namespace millrace::model
