#include "format/joined_answers.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "message/answer_ends.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;
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

void write_parts(JsonBuilder& out, const Content& content) {
  if (content.kind != Content::Kind::parts) {
    const std::string text = message::text_of(content);
    if (!text.empty()) message::write_text_part(out, text);
    return;
  }
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) out.value(part);
}

// The messages of one answer, which become its first one.
using Pieces = std::vector<const Message*>;

Content joined_content(const Pieces& pieces) {
  Pieces filled;
  std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(filled),
               [](const Message* piece) { return message::has_content(piece->content); });
  if (filled.empty()) return pieces.front()->content;
  if (filled.size() == 1) return filled.front()->content;
  const bool are_texts = std::all_of(filled.begin(), filled.end(), [](const Message* piece) {
    return piece->content.kind == Content::Kind::text;
  });
  if (are_texts) {
    std::string text;
    for (const Message* piece : filled) text.append(piece->content.text);
    return Content::of_text(text);
  }
  JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const Message* piece : filled) write_parts(out, piece->content);
  out.close_array();
  return Content::of_parts(out.take());
}

// The lengths of the texts of all; what has no list is one text.
std::string joined_lengths(const Pieces& pieces, std::string_view provider) {
  std::string lengths = "[";
  for (const Message* piece : pieces) {
    const std::string text = message::text_of(piece->content);
    std::vector<std::string_view> texts = listed_texts(piece->metadata, provider, text);
    if (texts.empty() && !text.empty()) texts.emplace_back(text);
    for (const std::string_view one : texts) {
      if (lengths.size() > 1) lengths.push_back(',');
      lengths.append(std::to_string(one.size()));
    }
  }
  return lengths + "]";
}

// The items of the content states of all.
std::string joined_items(const Pieces& pieces, std::string_view provider) {
  JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const Message* piece : pieces) {
    const auto* state = piece->metadata.find(provider, openai::content_kind);
    json::Document document(message::depth_limit);
    const auto items = document.parse(state == nullptr ? std::string_view() : state->json);
    if (!items) continue;
    for (const json::Value item : items.value().items()) out.value(item);
  }
  out.close_array();
  return out.take();
}

// The states of all; what describes the content describes that of all together.
std::vector<ProviderState> joined_states(const Pieces& pieces) {
  std::vector<ProviderState> states;
  std::vector<std::string> described;  // providers and kinds
  for (const Message* piece : pieces) {
    for (const ProviderState& state : piece->metadata.provider_state) {
      const bool is_list = state.kind == list_kind;
      if (!is_list && state.kind != openai::content_kind) {
        states.push_back(state);
        continue;
      }
      std::string key = state.provider + " " + state.kind;
      if (std::find(described.begin(), described.end(), key) != described.end()) continue;
      described.push_back(std::move(key));
      states.push_back({state.provider, state.kind,
                        is_list ? joined_lengths(pieces, state.provider)
                                : joined_items(pieces, state.provider)});
    }
  }
  return states;
}

Message joined(const Pieces& pieces) {
  Message answer = *pieces.front();
  answer.content = joined_content(pieces);
  answer.metadata.provider_state = joined_states(pieces);
  for (auto at = std::next(pieces.begin()); at != pieces.end(); ++at) {
    const Message& piece = **at;
    answer.tool_calls.insert(answer.tool_calls.end(), piece.tool_calls.begin(),
                             piece.tool_calls.end());
    auto& citations = answer.metadata.citations;
    citations.insert(citations.end(), piece.metadata.citations.begin(),
                     piece.metadata.citations.end());
    if (!answer.encrypted_value) answer.encrypted_value = piece.encrypted_value;
    if (!answer.name) answer.name = piece.name;
  }
  return answer;
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
  const std::vector<std::size_t> ends = message::answer_ends(messages);
  const auto is_one = [&](std::size_t first, std::size_t second) {
    return (answers.covers(first) && answers.covers(second)) || ends[first] > first;
  };
  JoinedAnswers out;
  out.messages.reserve(messages.size());
  for (at = 0; at < messages.size(); ++at) {
    if (!goes_on_behind_calls(messages, at) || !is_one(at, next_of_answer(messages, at))) {
      out.messages.push_back(messages[at]);
      continue;
    }
    Pieces pieces{&messages[at]};
    bool is_reordered = false;
    std::size_t next = next_of_answer(messages, at);
    for (; next < messages.size(); next = next_of_answer(messages, next)) {
      for (++at; at < next; ++at) {
        out.messages.push_back(messages[at]);
        is_reordered = is_reordered || messages[at].role == Role::reasoning;
      }
      is_reordered = is_reordered || !is_blank(messages[next]);
      pieces.push_back(&messages[next]);
    }
    if (is_reordered) ++out.reordered;
    out.messages.push_back(joined(pieces));
  }
  return out;
}

}  // namespace millrace::format
