// Messages that say nothing, and histories in which no user speaks: APIs reject them.
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

// Lets the user say the last of the prompts where nobody else speaks, with a note.
void add_user_turn(message::SharedMessages& messages, std::vector<Note>& notes);

}  // namespace millrace::model
