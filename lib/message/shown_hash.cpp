#include "message/shown_hash.hpp"

#include <algorithm>
#include <vector>

#include "base/json.hpp"
#include "message/parts.hpp"

namespace millrace::message {
namespace {

// A further member of `metadata.millrace`, or "".
std::string member_of(const Metadata& metadata, std::string_view name) {
  if (metadata.own.empty()) return {};
  json::Document document(depth_limit);
  const auto own = document.parse("{" + metadata.own + "}");
  return own ? std::string(own.value()[name].string()) : std::string();
}

void set_member(Metadata& metadata, std::string_view name, std::string_view text) {
  if (text.empty() || !member_of(metadata, name).empty()) return;
  json::append_member(metadata.own, name, text);
}

void append_text_of(std::string& list, const Message& message) {
  append_shown(list, TextHash(text_of(message.content)));
}

// The hashes of reasoning whose first part is this one. `message_at` gives a message or nullptr.
template <class MessageAt>
std::string hashes_of_reasoning(std::size_t at, MessageAt message_at) {
  std::string list;
  const Message& first = *message_at(at);
  append_text_of(list, first);
  for (std::size_t number = 1;; ++number) {
    const Message* next = message_at(at + number);
    if (next == nullptr || next->role != Role::reasoning) return list;
    if (next->id != further_part_id(first.id, number)) return list;
    append_text_of(list, *next);
  }
}

bool begins_turn(Role role) {
  return role == Role::user || role == Role::system || role == Role::developer;
}

// The hashes of the last so many reasoning messages in front of this one, in its turn.
std::string hashes_before(std::span<const Message> messages, std::size_t at, std::size_t most) {
  std::vector<std::size_t> found;
  while (at > 0 && found.size() < most) {
    const Message& message = messages[--at];
    if (message.role == Role::reasoning) {
      if (!message.subagent_run_id) found.push_back(at);
    } else if (begins_turn(message.role)) {
      break;
    }
  }
  std::string list;
  for (auto place = found.rbegin(); place != found.rend(); ++place) {
    append_text_of(list, messages[*place]);
  }
  return list;
}

}  // namespace

bool signs_reasoning_before(std::string_view encrypted_value) {
  return encrypted_value.starts_with('[');
}

std::string further_part_id(std::string_view id, std::size_t number) {
  return std::string(id) + ":" + std::to_string(number);
}

void append_shown(std::string& list, const TextHash& hash) {
  if (!list.empty()) list.push_back(' ');
  list.append(hash.text());
}

std::string shown_of(const Metadata& metadata) {
  return member_of(metadata, shown_member);
}

void set_shown(Metadata& metadata, std::string_view list) {
  set_member(metadata, shown_member, list);
}

bool binds_what_follows(std::string_view reasoning_id) {
  return reasoning_id.starts_with("rs_");
}

std::string reasoning_of(const Metadata& metadata) {
  return member_of(metadata, reasoning_member);
}

void set_reasoning(Metadata& metadata, std::string_view id) {
  set_member(metadata, reasoning_member, id);
}

void record_shown(std::span<const FoldedMessage> messages,
                  const std::function<bool(std::string_view id)>& is_signed) {
  const auto message_at = [&](std::size_t index) {
    return index < messages.size() ? messages[index].message : nullptr;
  };
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const auto [message, answer] = messages[at];
    for (ToolCall& call : message->tool_calls) {
      if (!call.encrypted_value || !is_signed(call.id)) continue;
      std::string list;
      append_shown(list, TextHash(call.arguments));
      set_shown(call.metadata, list);
    }
    if (!message->encrypted_value || !is_signed(message->id)) continue;
    std::string list;
    if (message->role == Role::reasoning) {
      list = hashes_of_reasoning(at, message_at);
    } else if (!signs_reasoning_before(*message->encrypted_value)) {
      append_text_of(list, *message);
    } else {
      for (const FoldedMessage& before : messages.first(at)) {
        if (before.answer != answer || before.message->role != Role::reasoning) continue;
        append_text_of(list, *before.message);
      }
    }
    set_shown(message->metadata, list);
  }
}

bool fits_shown(std::span<const Message> messages, std::size_t at) {
  const Message& message = messages[at];
  if (!message.encrypted_value) return true;
  const std::string shown = shown_of(message.metadata);
  if (shown.empty()) return true;
  if (message.role == Role::reasoning) {
    const auto message_at = [&](std::size_t index) {
      return index < messages.size() ? &messages[index] : nullptr;
    };
    return hashes_of_reasoning(at, message_at) == shown;
  }
  if (signs_reasoning_before(*message.encrypted_value)) {
    const auto spaces = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), ' '));
    return hashes_before(messages, at, spaces + 1) == shown;
  }
  std::string now;
  append_text_of(now, message);
  return now == shown;
}

bool fits_shown(const ToolCall& call) {
  if (!call.encrypted_value) return true;
  const std::string shown = shown_of(call.metadata);
  if (shown.empty() || TextHash(call.arguments).text() == shown) return true;
  // Empty arguments are completed, and a client may write JSON in its own way.
  if (call.arguments == "{}" && TextHash().text() == shown) return true;
  json::Document document(depth_limit);
  const auto arguments = document.parse(call.arguments);
  return arguments && TextHash(arguments.value().to_json(json::Surrogates::keep)).text() == shown;
}

}  // namespace millrace::message
