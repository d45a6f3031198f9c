// A hash of what a part showed when its provider signed it: the member `shown` of the
// `metadata.millrace` of a message or a call with an encrypted value. A signature of other words is
// rejected, or counts for words that the model never wrote.
// Source: docs/decisions/ordered-parts.md.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/text_hash.hpp"
#include "message/message.hpp"

namespace millrace::message {

inline constexpr std::string_view shown_member = "shown";

// The member that names the signed reasoning in front of a message or a call, where the provider
// rejects one without the other: the Responses API finds items by their ids.
// Source: "Item 'fc_...' of type 'function_call' was provided without its required 'reasoning'
// item" (https://github.com/cline/cline/issues/12242, 2026-07).
inline constexpr std::string_view reasoning_member = "reasoning";
bool binds_what_follows(std::string_view reasoning_id);

// True for a value that signs the reasoning in front of its message: OpenRouter's
// `reasoning_details`. Other values sign the text, reasoning or arguments that they are of.
bool signs_reasoning_before(std::string_view encrypted_value);

// The id of a further part of the reasoning with this id. Their signature is the first one's.
std::string further_part_id(std::string_view id, std::size_t number);

// Appends the hash of a part to a list of them.
void append_shown(std::string& list, const TextHash& hash);

// The record, or "" where there is none.
std::string shown_of(const Metadata& metadata);
// Sets the record, unless there is one.
void set_shown(Metadata& metadata, std::string_view list);

// The id of the reasoning that is named, or "".
std::string reasoning_of(const Metadata& metadata);
void set_reasoning(Metadata& metadata, std::string_view id);

// A message of a fold, and the number of the answer that it is part of.
struct FoldedMessage {
  Message* message;
  std::size_t answer;
};
// Sets the records of the messages and calls that `is_signed` names by their ids.
void record_shown(std::span<const FoldedMessage> messages,
                  const std::function<bool(std::string_view id)>& is_signed);

// True when the signature of this message is of what the messages show, or nothing says of what.
bool fits_shown(std::span<const Message> messages, std::size_t at);
// The same of a call.
bool fits_shown(const ToolCall& call);

}  // namespace millrace::message
