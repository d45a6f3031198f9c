// Answers for an API whose message of the assistant has one reasoning before its text.
#pragma once

#include <cstddef>
#include <span>

#include "message/message.hpp"

namespace millrace::format {

// How many messages behind the one at `at` end with the last reasoning that belongs to it: no
// message of the assistant follows that reasoning in the same answer.
std::size_t reasoning_after(std::span<const message::Message> messages, std::size_t at);

}  // namespace millrace::format
