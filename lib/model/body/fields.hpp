// What the bodies of several dialects share.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

void write_number(message::JsonBuilder& out, std::string_view key, std::optional<double> number);
void write_integer(message::JsonBuilder& out, std::string_view key,
                   std::optional<std::int64_t> number);
void write_strings(message::JsonBuilder& out, std::string_view key,
                   std::span<const std::string> texts);

// Writes the payload's further members that are named, when they are there and not null.
void write_extra(message::JsonBuilder& out, const Draft& draft,
                 std::span<const std::string_view> names);
// `made`, an object, with what the payload's further member of this name has beyond it: what is
// made of the payload's settings holds, at the root and one level below it; what it overrules is
// noted.
std::string with_given(std::string made, const Draft& draft, std::string_view member);

// The same with those of the payload's further members that are named.
std::string with_members(std::string made, const Draft& draft,
                         std::span<const std::string_view> names);

// The payload's further member of this name as JSON text, or "".
std::string_view extra_of(const ChatPayload& payload, std::string_view name);

// Notes how many prompts stand behind other messages, for an API that has them at the beginning;
// `is_turn` is true of those that stay in their place.
void note_moved_prompts(const Draft& draft,
                        bool (*is_turn)(const message::Message& message) = nullptr);

// Notes that in so many answers parts of another order were joined.
void note_joined(const Draft& draft, std::size_t answers);

// The error for something the provider cannot do; `sentence` says what and what it can, `place`
// where in the messages it is.
Error not_supported(const Draft& draft, std::string_view sentence, std::string_view place = {});

}  // namespace millrace::model
