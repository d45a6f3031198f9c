#include "format/openai_conversation_reasoning.hpp"

#include <algorithm>
#include <string>

#include "event/event.hpp"
#include "format/openai_item_state.hpp"
#include "format/openai_names.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Message;
using message::ProviderState;
using message::Role;
using openai::ItemState;

// What the API made: the encrypted values of other providers look different and would be refused.
bool is_encrypted_here(const Message& message) {
  constexpr std::string_view fernet = "gAAAA";  // the version and the high bytes of the time
  return message.encrypted_value &&
         (message.id.starts_with("rs_") || message.encrypted_value->starts_with(fernet));
}

bool is_of_answer(const message::Metadata& metadata) {
  return metadata.find(event::issuer_provider, event::issuer_kind) != nullptr;
}

std::size_t count_left_silent(const Message& message, PlainReasoning plain) {
  const auto& states = message.metadata.provider_state;
  return static_cast<std::size_t>(
      std::count_if(states.begin(), states.end(),
                    [&](const ProviderState& state) { return is_left_silent(state, plain); }));
}

}  // namespace

// What has an item's state was made here.
bool is_reasoning_written(const Message& first, PlainReasoning plain) {
  if (is_encrypted_here(first)) return true;
  if (!ItemState(first.metadata).exists()) return false;
  return first.encrypted_value || plain == PlainReasoning::sent || !is_of_answer(first.metadata);
}

bool is_left_silent(const ProviderState& state, PlainReasoning plain) {
  return plain == PlainReasoning::left_out && state.provider == openai::items_provider &&
         state.kind == "reasoning";
}

bool leaves_silent_reasoning(const Message& message, PlainReasoning plain) {
  return count_left_silent(message, plain) > 0;
}

std::size_t count_reasoning_parts(std::span<const Message> messages, std::size_t at) {
  std::size_t count = 1;
  while (at + count < messages.size()) {
    const Message& next = messages[at + count];
    if (next.role != Role::reasoning) break;
    if (next.id != messages[at].id + ":" + std::to_string(count)) break;
    ++count;
  }
  return count;
}

std::size_t reasoning_left_out(std::span<const Message> messages, PlainReasoning plain) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const Message& first = messages[at];
    count += count_left_silent(first, plain);
    if (first.role != Role::reasoning) continue;
    const bool has_more = first.encrypted_value && !first.encrypted_value->empty();
    const bool has_any = has_more || !message::text_of(first.content).empty();
    if (has_any && !is_reasoning_written(first, plain)) ++count;
    at += count_reasoning_parts(messages, at) - 1;
  }
  return count;
}

}  // namespace millrace::format
