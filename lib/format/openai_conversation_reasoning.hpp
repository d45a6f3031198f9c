// Which reasoning goes back to OpenAI's Responses API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/json.hpp"
#include "message/message.hpp"

namespace millrace::format {

// What becomes of reasoning of an answer that came without encrypted content. OpenAI finds it by
// its id where the answer was stored, and rejects it otherwise; other servers read its words. What
// the caller wrote itself is sent.
// Source: OpenAI API reference, Responses: `include: reasoning.encrypted_content` (2026).
enum class PlainReasoning : std::uint8_t { sent, left_out };

// Whether the writer writes reasoning whose first part is this one.
bool is_reasoning_written(const message::Message& first, PlainReasoning plain);
// Whether a message holds an item of reasoning without words that the writer leaves out.
bool leaves_silent_reasoning(const message::Message& message, PlainReasoning plain);

// How many items of reasoning the writer leaves out; those of another API are nothing to it.
std::size_t reasoning_left_out(std::span<const message::Message> messages, PlainReasoning plain);

// Appends an item of reasoning: a message for each part of its summary and of its content, at least
// one. The first has `id`, the encrypted content and what no other member of a message shows.
void read_reasoning_item(message::Messages& out, const json::Value& item, const std::string& id);

// How many messages from `at` on are parts of one item of reasoning.
std::size_t count_reasoning_parts(std::span<const message::Message> messages, std::size_t at);

// Whether a state is an item of reasoning without words that the writer leaves out.
bool is_left_silent(const message::ProviderState& state, PlainReasoning plain);

}  // namespace millrace::format
