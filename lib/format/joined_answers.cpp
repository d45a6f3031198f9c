#include "format/joined_answers.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;
using message::Messages;
using message::Metadata;
using message::ProviderState;
using message::Role;

bool is_beside(Role role) {
  return role == Role::reasoning || role == Role::activity;
}

// The next message of the assistant in the same answer, or `messages.size()`.
std::size_t next_of_answer(std::span<const Message> messages, std::size_t at) {
  std::size_t next = at + 1;
  while (next < messages.size() && is_beside(messages[next].role)) ++next;
  const bool is_same = next < messages.size() && messages[next].role == Role::assistant;
  return is_same ? next : messages.size();
}

// Whether a result that follows the answer is of a call of the message at `at`.
bool is_answered_behind(std::span<const Message> messages, std::size_t at) {
  const auto& calls = messages[at].tool_calls;
  std::size_t next = at + 1;
  while (next < messages.size() &&
         (is_beside(messages[next].role) || messages[next].role == Role::assistant)) {
    ++next;
  }
  for (; next < messages.size() && messages[next].role == Role::tool; ++next) {
    const std::string& id = messages[next].tool_call_id;
    const auto answers = [&](const message::ToolCall& call) { return call.id == id; };
    if (std::any_of(calls.begin(), calls.end(), answers)) return true;
  }
  return false;
}

void write_parts(JsonBuilder& out, const Content& content) {
  if (content.kind != Content::Kind::parts) {
    const std::string text = message::text_of(content);
    if (!text.empty()) message::write_text_part(out, text);
    return;
  }
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) out.value(part);
}

Content joined_content(const Content& first, const Content& second) {
  using Kind = Content::Kind;
  if (!message::has_content(second)) return first;
  if (!message::has_content(first)) return second;
  if (first.kind == Kind::text && second.kind == Kind::text) {
    return Content::of_text(first.text + second.text);
  }
  JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  write_parts(out, first);
  write_parts(out, second);
  out.close_array();
  return Content::of_parts(out.take());
}

// The lengths of the texts of a message; all of it is one where it has no list.
void add_lengths(std::string& out, const Message& message, std::string_view provider) {
  const std::string text = message::text_of(message.content);
  std::vector<std::string_view> texts = listed_texts(message.metadata, provider, text);
  if (texts.empty() && !text.empty()) texts.emplace_back(text);
  for (const std::string_view piece : texts) {
    if (out.size() > 1) out.push_back(',');
    out.append(std::to_string(piece.size()));
  }
}

std::string joined_list(const std::string& first, const std::string& second) {
  json::Document first_document(message::depth_limit);
  json::Document second_document(message::depth_limit);
  const auto before = first_document.parse(first);
  const auto behind = second_document.parse(second);
  if (!before || !behind) return first;
  JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value item : before.value().items()) out.value(item);
  for (const json::Value item : behind.value().items()) out.value(item);
  out.close_array();
  return out.take();
}

// The states of both messages; what describes their content describes that of both together.
void join_states(Message& first, const Message& second) {
  auto& states = first.metadata.provider_state;
  const auto same = [&](const ProviderState& state) {
    return std::find_if(states.begin(), states.end(), [&](const ProviderState& known) {
      return known.provider == state.provider && known.kind == state.kind;
    });
  };
  for (ProviderState& state : states) {
    if (state.kind != list_kind) continue;
    std::string lengths = "[";
    add_lengths(lengths, first, state.provider);
    add_lengths(lengths, second, state.provider);
    state.json = lengths + "]";
  }
  for (const ProviderState& state : second.metadata.provider_state) {
    const auto known = same(state);
    if (state.kind == list_kind) {
      if (known != states.end()) continue;
      std::string lengths = "[";
      add_lengths(lengths, first, state.provider);
      add_lengths(lengths, second, state.provider);
      states.push_back({state.provider, state.kind, lengths + "]"});
    } else if (state.kind == openai::content_kind && known != states.end()) {
      known->json = joined_list(known->json, state.json);
    } else {
      states.push_back(state);
    }
  }
}

// Appends what the answer says further to its first message.
void join_message(Message& first, const Message& second) {
  join_states(first, second);
  first.content = joined_content(first.content, second.content);
  first.tool_calls.insert(first.tool_calls.end(), second.tool_calls.begin(),
                          second.tool_calls.end());
  Metadata& metadata = first.metadata;
  metadata.citations.insert(metadata.citations.end(), second.metadata.citations.begin(),
                            second.metadata.citations.end());
  if (!first.encrypted_value) first.encrypted_value = second.encrypted_value;
  if (!first.name) first.name = second.name;
}

bool is_blank(const Message& message) {
  return message::text_of(message.content).find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

std::size_t reasoning_after(std::span<const Message> messages, std::size_t at) {
  std::size_t count = 0;
  for (std::size_t next = at + 1; next < messages.size(); ++next) {
    const Role role = messages[next].role;
    if (role == Role::assistant) return 0;
    if (role == Role::reasoning) count = next - at;
    if (!is_beside(role)) break;
  }
  return count;
}

bool goes_on_behind_calls(std::span<const Message> messages, std::size_t at) {
  return messages[at].role == Role::assistant && !messages[at].tool_calls.empty() &&
         next_of_answer(messages, at) < messages.size();
}

std::optional<JoinedAnswers> join_answers(std::span<const Message> messages) {
  std::size_t at = 0;
  while (at < messages.size() && !goes_on_behind_calls(messages, at)) ++at;
  if (at == messages.size()) return std::nullopt;
  const message::OrderedAnswers answers(messages);
  const auto is_one = [&](std::size_t first, std::size_t second) {
    const bool is_recorded = answers.covers(first) && answers.covers(second);
    return is_recorded || is_answered_behind(messages, first);
  };
  JoinedAnswers out;
  out.messages.reserve(messages.size());
  for (at = 0; at < messages.size(); ++at) {
    if (!goes_on_behind_calls(messages, at) || !is_one(at, next_of_answer(messages, at))) {
      out.messages.push_back(messages[at]);
      continue;
    }
    Message answer = messages[at];
    bool is_reordered = false;
    std::size_t next = next_of_answer(messages, at);
    for (; next < messages.size(); next = next_of_answer(messages, next)) {
      for (++at; at < next; ++at) {
        out.messages.push_back(messages[at]);
        is_reordered = is_reordered || messages[at].role == Role::reasoning;
      }
      is_reordered = is_reordered || !is_blank(messages[next]);
      join_message(answer, messages[next]);
    }
    if (is_reordered) ++out.reordered;
    out.messages.push_back(std::move(answer));
  }
  return out;
}

}  // namespace millrace::format
