#include "model/payload/silent_messages.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "model/body/media.hpp"
#include "model/payload/notes.hpp"

namespace millrace::model {
namespace {

bool has_no_content(const message::Message& message) {
  using Kind = message::Content::Kind;
  const message::Content& content = message.content;
  // Who asks nothing in so many words may mean it.
  const bool has_content = content.kind == Kind::text
                               ? !content.text.empty() || message.role == message::Role::user
                               : content.kind != Kind::absent && content.text != "[]";
  return !has_content && message.tool_calls.empty() && message.metadata.provider_state.empty() &&
         !message.encrypted_value;
}

}  // namespace

// Claude answers better to a word than to nothing. What the provider's own tools returned is sent
// as it came.
void fill_empty_results(message::SharedMessages& messages) {
  std::unordered_set<std::string> server_calls;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const message::Message& message = messages[at];
    for (const message::ToolCall& call : message.tool_calls) {
      if (call.metadata.find("anthropic", "server_tool") != nullptr) server_calls.insert(call.id);
    }
    if (message.role != message::Role::tool || message.error) continue;
    if (server_calls.contains(message.tool_call_id)) continue;
    if (message.content.kind == message::Content::Kind::parts || !message.content.text.empty()) {
      continue;
    }
    messages.edit()[at].content = message::Content::of_text("<empty_content>");
  }
}

// An answer that was stopped before its first word, a question whose parts are none or empty:
// providers refuse the whole history for one. Reasoning belongs to the answer behind it, which
// stays.
void drop_silent(message::SharedMessages& messages, const Quirks& quirks,
                 std::vector<Note>& notes) {
  using message::Role;
  Role before = Role::system;
  const auto is_silent = [&](const message::Message& message) {
    const bool may_be = message.role == Role::user ||
                        (message.role == Role::assistant && before != Role::reasoning &&
                         !quirks.has(Quirk::blank_assistant_content));
    before = message.role;
    return may_be && has_no_content(message);
  };
  note_count(notes, "Media without address or bytes are", drop_empty_media(messages), {}, true);
  if (std::none_of(messages.begin(), messages.end(), is_silent)) return;
  before = Role::system;
  const std::size_t dropped = std::erase_if(messages.edit(), is_silent);
  note_count(notes, "Messages that say nothing are", dropped, {});
}

// APIs that keep the system prompt apart refuse a request without other messages; others answer
// it. The last prompt becomes a message of the user then. Sources:
// https://docs.anthropic.com/en/api/messages, langchain-ai/langchain-google#1298 (2026-11).
void add_user_turn(message::SharedMessages& messages, std::vector<Note>& notes) {
  using message::Message;
  using message::Role;
  const auto is_prompt = [](const Message& message) {
    return message.role == Role::system || message.role == Role::developer;
  };
  const auto speaks = [&](const Message& message) {
    return !is_prompt(message) && message.role != Role::activity;
  };
  if (std::any_of(messages.begin(), messages.end(), speaks)) return;
  if (std::none_of(messages.begin(), messages.end(), is_prompt)) return;
  message::Messages& own = messages.edit();
  std::find_if(own.rbegin(), own.rend(), is_prompt)->role = Role::user;
  notes.push_back(
      {"messages", "The API answers to a user: the system prompt is what the user says.", false});
}

}  // namespace millrace::model
