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

// What a signature is of: a text of each part.
using Texts = std::vector<std::string>;

std::string hashes_of(const Texts& texts) {
  std::string list;
  for (const std::string& text : texts) append_shown(list, TextHash(text));
  return list;
}

// True when the hashes of the list are those of the texts.
bool fits(const Texts& texts, std::string_view list) {
  for (const std::string& text : texts) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (!TextHash::fits(text, list.substr(0, end))) return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return list.empty();
}

// The texts of reasoning whose first part is this one. `message_at` gives a message or nullptr.
template <class MessageAt>
Texts texts_of_reasoning(std::size_t at, MessageAt message_at) {
  const Message& first = *message_at(at);
  Texts texts{text_of(first.content)};
  for (std::size_t number = 1;; ++number) {
    const Message* next = message_at(at + number);
    if (next == nullptr || next->role != Role::reasoning) return texts;
    if (next->id != further_part_id(first.id, number)) return texts;
    texts.push_back(text_of(next->content));
  }
}

bool begins_turn(Role role) {
  return role == Role::user || role == Role::system || role == Role::developer;
}

// The texts of the last so many reasoning messages in front of this one, in its turn.
Texts texts_before(std::span<const Message> messages, std::size_t at, std::size_t most) {
  std::vector<std::size_t> found;
  while (at > 0 && found.size() < most) {
    const Message& message = messages[--at];
    if (message.role == Role::reasoning) {
      if (!message.subagent_run_id) found.push_back(at);
    } else if (begins_turn(message.role)) {
      break;
    }
  }
  Texts texts;
  for (auto place = found.rbegin(); place != found.rend(); ++place) {
    texts.push_back(text_of(messages[*place].content));
  }
  return texts;
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
      set_shown(call.metadata, hashes_of({call.arguments}));
    }
    if (!message->encrypted_value || !is_signed(message->id)) continue;
    Texts texts;
    if (message->role == Role::reasoning) {
      texts = texts_of_reasoning(at, message_at);
    } else if (!signs_reasoning_before(*message->encrypted_value)) {
      texts.push_back(text_of(message->content));
    } else {
      for (const FoldedMessage& before : messages.first(at)) {
        if (before.answer != answer || before.message->role != Role::reasoning) continue;
        texts.push_back(text_of(before.message->content));
      }
    }
    set_shown(message->metadata, hashes_of(texts));
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
    return fits(texts_of_reasoning(at, message_at), shown);
  }
  if (signs_reasoning_before(*message.encrypted_value)) {
    const auto spaces = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), ' '));
    return fits(texts_before(messages, at, spaces + 1), shown);
  }
  return fits({text_of(message.content)}, shown);
}

bool fits_shown(const ToolCall& call) {
  if (!call.encrypted_value) return true;
  const std::string shown = shown_of(call.metadata);
  if (shown.empty() || TextHash::fits(call.arguments, shown)) return true;
  // Empty arguments are completed, and a client may write JSON in its own way.
  if (call.arguments == "{}" && TextHash::fits("", shown)) return true;
  json::Document document(depth_limit);
  const auto arguments = document.parse(call.arguments);
  return arguments && TextHash::fits(arguments.value().to_json(json::Surrogates::keep), shown);
}

}  // namespace millrace::message
