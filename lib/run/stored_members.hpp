// What messages are stored with in a conversation, beside the members of AG-UI.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::run {

inline constexpr std::array<std::string_view, 11> stored_members{
    "createdAt",   "run",       "status",  "attachments", "references", "edited",
    "displayOnly", "timestamp", "webchat", "notes",       "pipelines"};

// A text with notes of the host behind it, which a model reads and histories do not show.
std::string with_notes(std::string text, const json::Tree& notes);

// A stored message as a model reads it: with its notes, without these members.
void prepare_for_model(json::Tree& message);

// The same as the state of a run has it: its attachments stay, and are read with each request.
json::Tree as_state_message(json::Tree message);

void leave_out_stored_members(json::Tree& message);

}  // namespace millrace::run
