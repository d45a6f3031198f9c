// Edits of a conversation that leave it valid: a tool call and its result stay together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::agent {

// True for a row of this role.
bool is_role(const json::Tree& state_message, std::string_view role);
// True for a system's or a developer's row.
bool is_prompt(const json::Tree& state_message);

// Where the part begins that a compression keeps as it is: the newest row of the user and what is
// behind it, or a tail of at most `tail_tokens`. Never between a call and its result. 0 when there
// is nothing to compress.
std::size_t compression_cut(const json::Tree& messages, std::int64_t tail_tokens);

// Rows that are longer than `most_tokens` together lose the middles of their longest texts: of
// results of tools first, then of everything but system rows and the calls themselves.
json::Tree shorten_messages(const json::Tree& messages, std::int64_t most_tokens);

// The rows before `cut` as text for the model that sums them up.
json::Tree summary_request(const json::Tree& messages, std::size_t cut,
                           std::string_view existing_summary);

// Drops the oldest whole turns until the rest fits, system rows and the newest turn excepted.
json::Tree truncate_turns(const json::Tree& messages, std::int64_t most_tokens);

// The system rows at the head and the last `most` of the others, or more where the cut would part
// a call from its results.
json::Tree newest_messages(const json::Tree& messages, std::size_t most);

// The system rows at the head and the newest whole turns of at most `most` rows together. Of a turn
// that is longer, its question and its newest rows; a call and its results stay together.
json::Tree trim_messages(const json::Tree& messages, std::size_t most);

}  // namespace millrace::agent
