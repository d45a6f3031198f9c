#include "model/body/claude_prompts.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "format/anthropic_blocks.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::Message;
using message::Role;

bool is_prompt(const Message& message) {
  return message.role == Role::system || message.role == Role::developer;
}

// Other vendors serve models of their own behind the same API.
bool is_claude_model(const Draft& draft) {
  return draft.has(Quirk::claude_server) ||
         lowered(draft.model).find("claude") != std::string::npos;
}

class Places {
 public:
  Places(std::span<const Message> messages, bool takes_turns)
      : messages_(messages), takes_turns_(takes_turns) {}

  // Whether there is anything to do with a message.
  [[nodiscard]] bool concerns(std::size_t at) const {
    const Message& message = messages_[at];
    if (!is_prompt(message) || !has_begun(at)) return false;
    if (format::is_blank(message::text_of(message.content))) return false;
    return !format::is_system_turn(message);
  }

  [[nodiscard]] bool may_be_turn(std::size_t at) const {
    return takes_turns_ && follows_user(at) && precedes_answer(at);
  }

 private:
  static bool is_unsent(const Message& message) { return message.role == Role::activity; }

  [[nodiscard]] bool has_begun(std::size_t at) const {
    const auto before = messages_.first(at);
    return std::any_of(before.begin(), before.end(), [](const Message& message) {
      return !is_prompt(message) && !is_unsent(message);
    });
  }
  // Results of calls are a turn of the user; they stand before what follows the calls.
  [[nodiscard]] bool follows_user(std::size_t at) const {
    for (std::size_t before = at; before-- > 0;) {
      const Message& message = messages_[before];
      if (is_prompt(message) || is_unsent(message)) continue;
      const bool is_user = message.role == Role::user || message.role == Role::tool;
      return is_user || (message.role == Role::assistant && !message.tool_calls.empty());
    }
    return false;
  }
  [[nodiscard]] bool precedes_answer(std::size_t at) const {
    for (std::size_t next = at + 1; next < messages_.size(); ++next) {
      const Message& message = messages_[next];
      const bool is_passed = is_prompt(message) || is_unsent(message) || message.role == Role::tool;
      if (!is_passed) return message.role != Role::user;
    }
    return true;
  }

  std::span<const Message> messages_;
  bool takes_turns_;
};

// As a turn of the system, with the caller's marks.
void make_turn(Message& message) {
  const std::string text = message::text_of(message.content);
  std::string content = format::marked_blocks(message, text);
  if (content.empty()) json::append_string(content, text, json::Surrogates::keep);
  message.metadata.add(format::anthropic_provider, format::system_turn_kind, std::move(content));
}

void make_reminder(Message& message) {
  message.content = Content::of_text("<system-reminder>\n" + message::text_of(message.content) +
                                     "\n</system-reminder>");
  message.role = Role::user;
  message.metadata = {};
}

}  // namespace

std::optional<message::Messages> claude_prompts(const Draft& draft) {
  if (!is_claude_model(draft)) return std::nullopt;
  const bool takes_turns = draft.has(Quirk::claude_server) && draft.traits.has(Trait::system_turns);
  const Places places(draft.messages, takes_turns);
  std::optional<message::Messages> made;
  std::size_t reminders = 0;
  for (std::size_t at = 0; at < draft.messages.size(); ++at) {
    if (!places.concerns(at)) continue;
    if (!made) made.emplace(draft.messages.begin(), draft.messages.end());
    if (places.may_be_turn(at)) {
      make_turn((*made)[at]);
    } else {
      make_reminder((*made)[at]);
      ++reminders;
    }
  }
  if (reminders > 0) {
    draft.note("messages",
               "System messages amid the conversation stay at their places as reminders in turns "
               "of the user (" +
                   std::to_string(reminders) +
                   "): the model, or the API there, takes no turn of the system.");
  }
  return made;
}

}  // namespace millrace::model
