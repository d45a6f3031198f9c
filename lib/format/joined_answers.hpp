// Answers for an API whose message of the assistant has one reasoning, one text and then its calls.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "message/message.hpp"

namespace millrace::format {

// How many messages behind the one at `at` end with the last reasoning that belongs to it: no
// message of the assistant follows that reasoning in the same answer.
std::size_t reasoning_after(std::span<const message::Message> messages, std::size_t at);

// Whether the answer of the message at `at`, which has calls, goes on in another message of the
// assistant: the API takes nothing but results behind calls.
bool goes_on_behind_calls(std::span<const message::Message> messages, std::size_t at);

struct JoinedAnswers {
  message::Messages messages;
  std::size_t reordered = 0;  // answers with a text or reasoning that came behind a call
};

// The messages with each answer that goes on behind its calls as one message, its reasoning before
// it; none when there is no such answer.
std::optional<JoinedAnswers> join_answers(std::span<const message::Message> messages);

}  // namespace millrace::format
