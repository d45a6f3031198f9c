// Where answers without a recorded order end.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "message/message.hpp"

namespace millrace::message {

// For each message the place of the last one of its answer: of a message with a call whose result
// follows, the last message of the assistant in front of the results, since what stands between
// calls and their results is of the same answer; of any other message its own place.
// Time: in proportion to the messages and calls.
std::vector<std::size_t> answer_ends(std::span<const Message> messages);

}  // namespace millrace::message
