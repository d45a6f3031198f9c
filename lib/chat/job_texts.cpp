#include "chat/job_texts.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

// `extra` is the members of an object without its braces.
void take_attachments(Tree& attachments, std::string_view extra) {
  if (extra.empty()) return;
  const auto parsed = Tree::parse("{" + std::string(extra) + "}");
  if (!parsed) return;
  for (const Tree& item : parsed.value()["attachments"].items()) {
    if (item.is_object()) attachments.push(item);
  }
}

}  // namespace

void JobTexts::begin(const event::TextStart& start, std::string_view extra) {
  if (start.role != "assistant") return;
  Text text;
  text.id = start.id;
  text.index = next_++;
  text.members.set("index", Tree::integer(static_cast<std::int64_t>(text.index)));
  take_attachments(text.attachments, extra);
  const auto [found, is_new] = open_.try_emplace(text.id);
  if (!is_new) take_back(found->second);
  found->second = std::move(text);
}

void JobTexts::add(const event::TextDelta& delta) {
  const auto found = open_.find(delta.id);
  if (found == open_.end()) return;
  found->second.text.append(delta.delta);
  actions_.delta("message_delta", found->second.members, delta.delta);
}

void JobTexts::end(const event::TextEnd& end, std::string_view extra) {
  const auto found = open_.find(end.id);
  if (found == open_.end()) return;
  Text text = std::move(found->second);
  open_.erase(found);
  take_attachments(text.attachments, extra);
  if (is_held_) {
    ended_.push_back(std::move(text));
  } else {
    report(text);
    at_once_.insert_or_assign(std::move(text.id), text.index);
  }
}

void JobTexts::release() {
  is_held_ = false;
  const std::vector<Text> ended = std::exchange(ended_, {});
  for (const Text& text : ended) report(text);
}

void JobTexts::reset(const event::Reset& reset) {
  std::vector<std::string> ids;
  if (!reset.message_ids_json.empty()) {
    const auto parsed = Tree::parse(reset.message_ids_json);
    if (!parsed) return;
    for (const Tree& id : parsed.value().items()) ids.emplace_back(id.string());
  }
  const bool is_all = reset.message_ids_json.empty();
  const auto is_void = [&](std::string_view id) {
    return is_all || std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const Text& text : ended_) {
    if (is_void(text.id)) take_back(text);
  }
  std::erase_if(ended_, [&](const Text& text) { return is_void(text.id); });
  for (const auto& [id, text] : open_) {
    if (is_void(id)) take_back(text);
  }
  std::erase_if(open_, [&](const auto& entry) { return is_void(entry.first); });
  take_back_reported(ids);
}

void JobTexts::take_back_reported(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    const auto found = at_once_.find(id);
    if (found == at_once_.end()) continue;
    actions_.take_back_message(found->second);
    at_once_.erase(found);
  }
}

// A text that is no message must not stay on a reader's page.
void JobTexts::report(const Text& text) {
  if (json::trim(text.text).empty()) take_back(text);
  actions_.message(text.text, text.attachments, text.index);
}

void JobTexts::take_back(const Text& text) {
  if (!text.text.empty()) actions_.delta("message_reset", text.members, {});
}

}  // namespace millrace::chat
