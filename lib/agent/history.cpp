#include "agent/history.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/tokens.hpp"
#include "base/token_estimate.hpp"
#include "base/utf8.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

bool is_tool_result(const Tree& message) {
  return is_role(message, "tool");
}

// A turn begins where a person speaks.
std::vector<std::size_t> turn_starts(const std::vector<Tree>& items) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (is_role(items[i], "user")) starts.push_back(i);
  }
  return starts;
}

// The first place at or before `at` that is not between a call and its results.
std::size_t whole_place(const std::vector<Tree>& items, std::size_t at) {
  while (at > 0 && at < items.size() && is_tool_result(items[at])) --at;
  return at;
}

// Texts of fewer tokens are left alone, and what replaces a middle takes about `cut_mark`.
constexpr std::int64_t shortest_cut = 200;
constexpr std::int64_t cut_mark = 20;

// The beginning and the end of a text of `tokens` tokens, about `kept` of them together.
std::string without_middle(std::string_view text, std::int64_t retained, std::int64_t tokens) {
  const auto share = static_cast<double>(retained) / static_cast<double>(tokens) / 2;
  const auto half = static_cast<std::size_t>(static_cast<double>(text.size()) * share);
  std::string_view head = text.substr(0, half);
  head.remove_suffix(utf8::unfinished_tail(head));
  std::size_t from = text.size() - half;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
  std::string made(head);
  made.append("\n[").append(std::to_string(from - head.size()));
  made.append(" bytes are left out here]\n").append(text.substr(from));
  return made;
}

// What an answer was counted as is of all of it.
void forget_usage(Tree& state_message) {
  state_message.erase("usage");
  if (!std::as_const(state_message)["metadata"].is_object()) return;
  Tree& metadata = state_message.at("metadata");
  metadata.erase("usage");
  metadata.erase("totalOutputTokens");
}

// Leaves about `kept` of the tokens of a row's text; gives how many it has then, and 0 when cutting
// makes it no shorter.
std::int64_t shorten(Tree& state_message, std::int64_t retained, std::int64_t tokens) {
  const std::string text(std::as_const(state_message)["content"].string());
  for (retained = std::max(retained, shortest_cut / 2); retained > 0; retained /= 2) {
    std::string cut = without_middle(text, retained, tokens);
    const std::int64_t left = estimate_tokens(cut);
    if (left >= tokens) continue;
    state_message.set("content", std::move(cut));
    if (is_role(state_message, "assistant")) forget_usage(state_message);
    return left;
  }
  return 0;
}

}  // namespace

bool is_role(const Tree& state_message, std::string_view role) {
  return state_message["role"].string() == role;
}

bool is_prompt(const Tree& state_message) {
  return is_role(state_message, "system") || is_role(state_message, "developer");
}

std::size_t compression_cut(const Tree& messages, std::int64_t tail_tokens) {
  const auto& items = messages.items();
  const auto starts = turn_starts(items);
  std::size_t cut = starts.empty() ? items.size() : starts.back();
  // Work of the newest turn is summed up as well when it is long; its task is kept separately.
  if (tail_tokens > 0) {
    std::int64_t tokens = 0;
    std::size_t at = items.size();
    while (at > 0 && (tokens += estimate_message_tokens(items[at - 1])) <= tail_tokens) --at;
    cut = starts.empty() ? at : std::min(at, starts.back());
  }
  return whole_place(items, cut);
}

Tree summary_request(const Tree& messages, std::size_t cut, std::string_view existing_summary) {
  std::string text;
  if (!existing_summary.empty()) text.append("Summary so far:\n").append(existing_summary);
  for (std::size_t i = 0; i < cut && i < messages.items().size(); ++i) {
    const Tree& message = messages.items()[i];
    if (is_role(message, "system") || is_role(message, "compressedGroup")) continue;
    if (!text.empty()) text.append("\n\n");
    text.append(message["role"].string()).append(": ");
    const Tree& content = message["content"];
    text.append(content.is_string() ? std::string(content.string()) : content.to_json());
    for (const Tree& call : message["tool_calls"].items()) {
      text.append("\n[calls ").append(call["function"]["name"].string()).append(" ");
      text.append(call["function"]["arguments"].string()).append("]");
    }
  }
  Tree list = Tree::array();
  Tree system = Tree::object();
  system.set("role", "system");
  system.set("content",
             "Condense the conversation below so that an assistant can go on with it. Keep the "
             "user's goals, decisions, facts, names, numbers, paths, open tasks and results of "
             "tools; leave out greetings and repetition. Merge a summary that is given. Write in "
             "the language of the conversation and answer with the summary only.");
  list.push(std::move(system));
  Tree user = Tree::object();
  user.set("role", "user");
  user.set("content", text);
  list.push(std::move(user));
  return list;
}

Tree truncate_turns(const Tree& messages, std::int64_t most_tokens) {
  const auto& items = messages.items();
  const auto starts = turn_starts(items);
  std::int64_t total = estimate_context_tokens(messages, Tree());
  if (starts.size() < 2 || total <= most_tokens) return messages;
  std::size_t keep_from = starts.front();
  for (std::size_t turn = 0; turn + 1 < starts.size() && total > most_tokens; ++turn) {
    for (std::size_t i = starts[turn]; i < starts[turn + 1]; ++i) {
      if (!is_role(items[i], "system")) total -= estimate_message_tokens(items[i]);
    }
    keep_from = starts[turn + 1];
  }
  Tree retained = Tree::array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool head =
        i < starts.front() && (is_role(items[i], "system") || is_role(items[i], "compressedGroup"));
    if (head || i >= keep_from || is_role(items[i], "system")) retained.push(items[i]);
  }
  return retained;
}

Tree shorten_messages(const Tree& messages, std::int64_t most_tokens) {
  std::int64_t total = estimate_context_tokens(messages, Tree());
  if (total <= most_tokens) return messages;
  Tree state_messages = messages;
  std::vector<std::int64_t> sizes;
  for (const Tree& state_message : messages.items()) {
    sizes.push_back(
        is_role(state_message, "system") ? 0 : estimate_tokens(state_message["content"].string()));
  }
  // The longest comes first, of equal ones the oldest.
  struct Long {
    std::int64_t tokens;
    std::size_t at;
    bool operator<(const Long& other) const {
      return tokens != other.tokens ? tokens < other.tokens : at > other.at;
    }
  };
  for (const bool results : {true, false}) {
    std::priority_queue<Long> longest;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] <= shortest_cut || is_tool_result(messages.items()[i]) != results) continue;
      longest.push({sizes[i], i});
    }
    while (total > most_tokens && !longest.empty()) {
      const Long one = longest.top();
      longest.pop();
      Tree& state_message = state_messages.items()[one.at];
      const std::int64_t retained = one.tokens - (total - most_tokens) - cut_mark;
      total -= estimate_message_tokens(state_message);
      const std::int64_t left = shorten(state_message, retained, one.tokens);
      total += estimate_message_tokens(state_message);
      if (left > shortest_cut) longest.push({left, one.at});
    }
  }
  return state_messages;
}

Tree newest_messages(const Tree& messages, std::size_t most) {
  const auto& items = messages.items();
  std::size_t head = 0;
  while (head < items.size() && is_role(items[head], "system")) ++head;
  if (items.size() - head <= most) return messages;
  const std::size_t from = std::max(head, whole_place(items, items.size() - most));
  Tree retained = Tree::array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i < head || i >= from) retained.push(items[i]);
  }
  return retained;
}

Tree trim_messages(const Tree& messages, std::size_t most) {
  const auto& items = messages.items();
  std::size_t head = 0;
  while (head < items.size() && is_role(items[head], "system")) ++head;
  if (items.size() - head <= most) return messages;
  const auto starts = turn_starts(items);
  std::size_t from = items.size() - most;
  std::size_t question = items.size();
  const auto whole = std::lower_bound(starts.begin(), starts.end(), from);
  if (whole != starts.end()) {
    from = *whole;
  } else {
    // One turn is longer than that: its question stays, and of its work what is newest.
    if (!starts.empty()) {
      question = starts.back();
      ++from;
    }
    std::size_t next = from;
    while (next < items.size() && is_tool_result(items[next])) ++next;
    if (next == items.size()) {
      const std::size_t last = std::min(from, items.size() - 1);
      const std::size_t chain = whole_place(items, last);
      // Results whose calls are gone are no chain and could not be read.
      const bool has_calls = chain == last || !items[chain]["tool_calls"].items().empty();
      if (has_calls) next = chain;
    }
    from = next;
  }
  Tree retained = Tree::array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i < head || i >= from || i == question) retained.push(items[i]);
  }
  return retained;
}

}  // namespace millrace::agent
