// Calls that are left out of a history, so that their answers read as if they had not been made.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "message/message.hpp"

namespace millrace::message {

// Ids of calls, by the place of their message.
using LeftCalls = std::unordered_map<std::size_t, std::unordered_set<std::string>>;

// Takes the calls out of the records of their answers' order, which would not fit without them.
void erase_from_orders(Messages& messages, const LeftCalls& calls);

// Takes those of the message that had this place out of it.
void erase_calls(Message& message, std::size_t place, const LeftCalls& calls);

}  // namespace millrace::message
