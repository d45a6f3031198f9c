#include "api/stored_messages.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace millrace::api {

using json::Tree;

namespace {

void add_attachments(Tree& message, const Tree& more) {
  if (more.items().empty()) return;
  Tree* const known = message.find("attachments");
  const bool has_some = known != nullptr && known->is_array();
  Tree& all = has_some ? *known : message.set("attachments", Tree::array());
  for (const Tree& reference : more.items()) {
    const auto is_same = [&](const Tree& one) {
      return one["uid"].string() == reference["uid"].string();
    };
    const auto& items = all.items();
    if (std::none_of(items.begin(), items.end(), is_same)) all.push(reference);
  }
}

}  // namespace

Tree message_of(const store::MessageRow& row) {
  auto message = Tree::parse(row.json);
  return message ? std::move(message).value() : Tree::object();
}

bool is_question(const store::MessageRow& row) {
  return message_of(row)["role"].string() == "user";
}

void put_text(MessageRows& rows, const MessageSpan& span, const NewText& given) {
  bool is_put = false;
  for (std::size_t at = span.end; at > span.begin; --at) {
    store::MessageRow& row = rows[at - 1];
    Tree message = message_of(row);
    const std::string_view role = message["role"].string();
    if (role != "user" && role != "assistant") continue;
    if (is_put && message["content"].is_null()) continue;
    message.set("content", is_put ? std::string_view() : given.text);
    if (!is_put) add_attachments(message, given.attachments);
    // What the run wrote is shown no more.
    message.set("edited", Tree::flag(true));
    // Pipelines have not seen this text.
    message.erase("pipelines");
    is_put = true;
    row.json = message.to_json(json::Surrogates::keep);
  }
}

void leave_run(MessageRows& rows, std::size_t question) {
  const Tree run = message_of(rows[question])["run"];
  for (std::size_t at = question + 1; at > 0; --at) {
    Tree message = message_of(rows[at - 1]);
    if (message["role"].string() != "user" || !run.is_string() ||
        message["run"].string() != run.string()) {
      return;
    }
    message.erase("run");
    rows[at - 1].json = message.to_json(json::Surrogates::keep);
  }
}

store::ThreadUpdate cut_behind(MessageRows& rows, std::size_t question, const NewText& given) {
  rows.resize(question + 1);
  const MessageRows before = rows;
  leave_run(rows, question);
  if (!given.text.empty()) put_text(rows, {question, question + 1}, given);
  store::ThreadUpdate update;
  update.cut_behind = rows[question].id;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (rows[at].json == before[at].json) continue;
    update.messages.push_back({rows[at].id, rows[at].json, store::MessageRule::change});
  }
  return update;
}

}  // namespace millrace::api
