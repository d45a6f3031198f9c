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

RunNames runs_of(const MessageRows& rows, const MessageSpan& span, std::string_view role) {
  RunNames runs;
  for (std::size_t at = span.begin; at < span.end; ++at) {
    const Tree message = message_of(rows[at]);
    const bool is_one = message["role"].string() == role && message["run"].is_string();
    if (is_one) runs.emplace(message["run"].string());
  }
  return runs;
}

void leave_runs(MessageRows& rows, std::size_t end, const RunNames& runs, bool go_on) {
  RunNames questioned;  // runs of which such a question was met
  RunNames answered;    // those of which an answer before it was met
  for (std::size_t at = end; at > 0 && answered.size() < runs.size(); --at) {
    Tree message = message_of(rows[at - 1]);
    const std::string run(message["run"].string());
    if (!runs.contains(run) || answered.contains(run)) continue;
    if (message["role"].string() == "user") {
      questioned.insert(run);
    } else if (!go_on || questioned.contains(run)) {
      answered.insert(run);
      continue;
    }
    message.erase("run");
    rows[at - 1].json = message.to_json(json::Surrogates::keep);
  }
}

void branch_off(MessageRows& rows, std::size_t end, RunNames at_work) {
  RunNames cut = runs_of(rows, {end, rows.size()}, "assistant");
  if (end > 0) cut.merge(runs_of(rows, {end - 1, end}, "user"));
  // What a run did before it took a message is complete.
  for (const std::string& run : runs_of(rows, {end, rows.size()}, "user")) at_work.erase(run);
  rows.resize(end);
  leave_runs(rows, end, at_work, true);
  leave_runs(rows, end, cut);
}

store::ThreadUpdate cut_behind(MessageRows& rows, std::size_t question, const NewText& given) {
  RunNames runs = runs_of(rows, {question + 1, rows.size()}, "assistant");
  const Tree last = message_of(rows[question]);
  if (last["run"].is_string()) runs.emplace(last["run"].string());
  rows.resize(question + 1);
  const MessageRows before = rows;
  leave_runs(rows, rows.size(), runs);
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
