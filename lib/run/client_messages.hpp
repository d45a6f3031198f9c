// The conversation of an agent's run as its clients have it.
#pragma once

#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::run {

// How the ids of those messages begin that a run adds itself: clients never get them.
inline constexpr std::string_view instructions_id = "instructions-";
inline constexpr std::string_view context_id = "context-";

// AG-UI's messages for a MESSAGES_SNAPSHOT. "" where a client may have more than the rows do:
// there are none, or a part of them was compressed.
// Shape: `state_messages` as agent/state_messages.hpp has them, as well as `sent`, what the user sent
// to the run at work, of which the conversation may not have all yet.
std::string client_messages(const json::Tree& state_messages, const json::Tree::Items& sent);

}  // namespace millrace::run
