#include "run/durable/queued_input.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/json.hpp"
#include "journal/facts.hpp"
#include "run/stored_members.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::array<std::string_view, 4> rules{"add", "history", "put", "change"};

Tree update_json(const store::ThreadUpdate& update) {
  Tree json = Tree::object();
  json.set("title", update.title);
  if (!update.cut_behind.empty()) json.set("cutBehind", update.cut_behind);
  Tree& messages = json.set("messages", Tree::array());
  for (const store::ThreadEntry& entry : update.messages) {
    Tree message = Tree::object();
    message.set("id", entry.id);
    message.set("json", entry.json);
    message.set("rule", rules.at(static_cast<std::size_t>(entry.rule)));
    messages.push(std::move(message));
  }
  return json;
}

store::ThreadUpdate read_update(const Tree& json) {
  store::ThreadUpdate update;
  update.title = json["title"].string();
  update.cut_behind = json["cutBehind"].string();
  for (const Tree& message : json["messages"].items()) {
    const auto rule = std::find(rules.begin(), rules.end(), message["rule"].string());
    const auto at = rule == rules.end() ? 0 : std::distance(rules.begin(), rule);
    update.messages.push_back({std::string(message["id"].string()),
                               std::string(message["json"].string()),
                               static_cast<store::MessageRule>(at)});
  }
  return update;
}

}  // namespace

std::string queued_input(std::string_view function_input, const AgentInput& input) {
  auto json = Tree::parse(function_input);
  if (!json) return std::string(function_input);
  Tree queued = Tree::object();
  queued.set("threadId", input.thread_id);
  queued.set("runId", input.run_id);
  queued.set("parentRunId", input.parent_run_id);
  queued.set("protocolVersion", input.protocol_version);
  queued.set("hasContext", Tree::flag(input.has_context));
  queued.set("hasMadeIds", Tree::flag(input.has_made_ids));
  queued.set("withheldStates", Tree::integer(static_cast<std::int64_t>(input.withheld.count)));
  queued.set("withheldNames", input.withheld.names);
  queued.set("unfitRecords", Tree::integer(static_cast<std::int64_t>(input.unfit_records)));
  if (input.thread) queued.set("thread", update_json(*input.thread));
  std::string text(journal::queued_prefix);
  text += queued.to_json();
  for (const auto& [name, value] : json.value().members()) {
    json::append_raw_member(text, name.view(), value.to_json());
  }
  return text + "}";
}

Result<AgentInput> read_queued_input(std::string_view stored, std::string_view client_tools_json) {
  auto json = Tree::parse(stored);
  if (!json) return std::move(json).error();
  const Tree& queued = json.value()["queued"];
  AgentInput input;
  input.thread_id = queued["threadId"].string();
  input.run_id = queued["runId"].string();
  input.parent_run_id = queued["parentRunId"].string();
  input.protocol_version = queued["protocolVersion"].string();
  input.has_context = queued["hasContext"].is_true();
  input.has_made_ids = queued["hasMadeIds"].is_true();
  input.withheld.count = static_cast<std::size_t>(queued["withheldStates"].integer_or(0));
  input.withheld.names = queued["withheldNames"].string();
  input.unfit_records = static_cast<std::size_t>(queued["unfitRecords"].integer_or(0));
  const Tree& messages = json.value()["messages"];
  input.messages_json = messages.is_array() ? messages.to_json() : "[]";
  if (const Tree* state = json.value().find("state")) input.state_json = state->to_json();
  if (const Tree* props = json.value().find("forwardedProps")) input.props_json = props->to_json();
  input.tools_json = client_tools_json;
  if (queued["thread"].is_object()) {
    input.thread = std::make_shared<const store::ThreadUpdate>(read_update(queued["thread"]));
  }
  return input;
}

std::string with_thread_messages(std::string_view messages_json,
                                 const std::vector<store::MessageRow>& thread, bool is_of_thread) {
  auto given = Tree::parse(messages_json);
  if (!given) return std::string(messages_json);
  Tree::Items& messages = given.value().items();
  std::set<std::string_view> ids;
  for (const Tree& message : messages) ids.insert(message["id"].string());
  const auto is_given = [&](const store::MessageRow& row) { return ids.contains(row.id); };
  const auto last = std::find_if(thread.rbegin(), thread.rend(), is_given);
  if (last == thread.rend() && !is_of_thread) return std::string(messages_json);
  Tree::Items between;
  const auto first = last == thread.rend() ? thread.begin() : last.base();
  for (auto row = first; row != thread.end(); ++row) {
    auto message = Tree::parse(row->json);
    if (!message || message.value()["displayOnly"].is_true()) continue;
    prepare_for_model(message.value());
    between.push_back(std::move(message).value());
  }
  auto place = messages.begin();
  if (last != thread.rend()) {
    place = std::find_if(messages.begin(), messages.end(), [known = last->id](const Tree& message) {
      return message["id"].string() == known;
    });
    ++place;
  }
  messages.insert(place, std::make_move_iterator(between.begin()),
                  std::make_move_iterator(between.end()));
  return given.value().to_json();
}

}  // namespace millrace::run
