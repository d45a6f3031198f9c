#include "run/durable/thread_messages.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/utf8.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

constexpr std::size_t title_length = 40;
constexpr std::string_view made_prefix = "thinking-";

// The id of the message that an event begins; "" for others.
std::string_view begun_by(const event::Body& body) {
  if (const auto* text = std::get_if<event::TextStart>(&body)) return text->id;
  if (const auto* reasoning = std::get_if<event::ReasoningStart>(&body)) return reasoning->id;
  if (const auto* result = std::get_if<event::ToolResult>(&body)) return result->message_id;
  if (const auto* activity = std::get_if<event::ActivitySnapshot>(&body)) {
    return activity->message_id;
  }
  const auto* call = std::get_if<event::ToolStart>(&body);
  if (call == nullptr) return {};
  return call->parent_id.empty() ? call->id : call->parent_id;
}

bool is_cut(RunState state) {
  return state == RunState::cancelled || state == RunState::failed || state == RunState::dead;
}

std::string_view text_of(const Tree& content) {
  for (const Tree& part : content.items()) {
    if (part["type"].string() == "text") return part["text"].string();
  }
  return content.string();
}

// Ids of messages by their roles. Reasoning may have the id of its answer, which is another
// message.
class MessageIds {
 public:
  std::string take(std::string id, std::string_view role) {
    const auto [at, is_new] = roles_.try_emplace(id, role);
    return is_new || at->second == role ? id : id + "-" + std::string(role);
  }

 private:
  std::map<std::string, std::string, std::less<>> roles_;
};

// What comes before an answer is history that an earlier run may have stored under other ids.
std::size_t end_of_history(const Tree::Items& messages) {
  const auto answer = std::find_if(messages.rbegin(), messages.rend(), [](const Tree& message) {
    return message["role"].string() == "assistant";
  });
  return static_cast<std::size_t>(std::distance(answer, messages.rend()));
}

// Pages may give answers ids of their own in place of those that the run gave them.
bool is_of_a_run(std::string_view role) {
  constexpr std::array<std::string_view, 4> roles{"assistant", "tool", "reasoning", "activity"};
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

store::ThreadEntry entry_of(Tree message, std::string id, const store::RunId& run,
                            std::int64_t at_ms) {
  message.set("id", id);
  if (!message["createdAt"].is_number()) message.set("createdAt", Tree::integer(at_ms));
  message.set("run", run.text());
  return {std::move(id), message.to_json(json::Surrogates::keep), store::MessageRule::add};
}

}  // namespace

std::string title_of(const Tree& content) {
  constexpr std::size_t most_bytes = 4;  // of a character
  std::string title;
  utf8::append_replaced(title, text_of(content).substr(0, title_length * most_bytes));
  std::size_t end = 0;
  for (std::size_t count = 0; count < title_length && end < title.size(); ++count) {
    end += utf8::sequence_length(std::string_view(title).substr(end));
  }
  title.resize(end);
  return title;
}

ThreadMessages::ThreadMessages() : ids_(std::string(made_prefix)), folder_(ids_) {}

void ThreadMessages::add(std::int64_t at_ms, const event::Event& event) {
  if (!event.subagent.empty()) return;
  if (first_ms_ == 0) first_ms_ = at_ms;
  if (const std::string_view id = begun_by(event.body); !id.empty()) {
    begun_.try_emplace(std::string(id), at_ms);
  }
  folder_.feed(event);
}

store::ThreadUpdate ThreadMessages::rows(const store::RunId& run, RunState state) const {
  store::ThreadUpdate update;
  Tree folded = message::to_tree(folder_.messages());
  MessageIds ids;
  for (std::size_t at = 0; at < folded.items().size(); ++at) {
    Tree& message = folded.items()[at];
    std::string id(message["id"].string());
    if (id.empty()) id = std::to_string(at);
    const auto begun = begun_.find(id);
    // What was made here is no name for others.
    const bool is_made = message["id"].string().empty() || id.starts_with(made_prefix);
    id = ids.take(is_made ? run.text() + "-" + id : std::move(id), message["role"].string());
    const bool is_last = at + 1 == folded.items().size();
    const bool was_cut = is_last && is_cut(state) && message["role"].string() != "tool";
    if (was_cut) message.set("status", journal::name_of(state));
    auto entry = entry_of(std::move(message), std::move(id), run,
                          begun == begun_.end() ? first_ms_ : begun->second);
    entry.rule = store::MessageRule::put;
    update.messages.push_back(std::move(entry));
  }
  return update;
}

store::ThreadUpdate given_messages(const AgentInput& input, const store::RunId& run,
                                   std::int64_t now_ms, IdSource& ids) {
  if (input.thread) return *input.thread;
  store::ThreadUpdate update;
  auto parsed = Tree::parse(input.messages_json);
  if (!parsed) return update;
  Tree::Items& messages = parsed.value().items();
  const std::size_t history = end_of_history(messages);
  MessageIds used;
  for (std::size_t at = input.has_context ? 1 : 0; at < messages.size(); ++at) {
    Tree& message = messages[at];
    if (!message.is_object()) continue;
    if (update.title.empty() && message["role"].string() == "user") {
      update.title = title_of(message["content"]);
    }
    std::string id(message["id"].string());
    const bool has_id = !id.empty() && !input.has_made_ids;
    id = used.take(id.empty() ? ids.next_id() : std::move(id), message["role"].string());
    const bool may_be_known = !has_id || is_of_a_run(message["role"].string());
    auto entry = entry_of(std::move(message), std::move(id), run, now_ms);
    if (may_be_known && at < history) entry.rule = store::MessageRule::history;
    update.messages.push_back(std::move(entry));
  }
  return update;
}

store::ThreadUpdate sent_message(Tree message, const store::RunId& run, std::int64_t now_ms) {
  store::ThreadUpdate update;
  std::string id(message["id"].string());
  update.messages.push_back(entry_of(std::move(message), std::move(id), run, now_ms));
  return update;
}

void join(std::optional<store::ThreadUpdate>& update, store::ThreadUpdate more) {
  if (!update) {
    update = std::move(more);
    return;
  }
  if (update->title.empty()) update->title = std::move(more.title);
  if (update->cut_behind.empty()) update->cut_behind = std::move(more.cut_behind);
  std::move(more.messages.begin(), more.messages.end(), std::back_inserter(update->messages));
}

}  // namespace millrace::run
