// What the engine does with a text of strangers, from its first byte to what it is made into.
#pragma once

#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::fuzz {

// Runs the entry that the shape names:
// - agent: the body of POST /agent; `of` is the format of its messages
// - chat: the payload of a chat, built for the provider `of`
// - turn: an answer of a model, {content, tool_calls}, as an agent's step takes it
// - wire: a list of records on the wire `of`; one of {"event", "data"} has a name
// - events: a list of AG-UI events
void run_entry(const json::Tree& shape, std::string_view text);

}  // namespace millrace::fuzz
