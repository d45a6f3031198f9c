#include "run/durable/thread_record.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/state_messages.hpp"
#include "base/json_tree.hpp"
#include "encoder/ag_ui.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::array<std::string_view, 3> recorded_roles{"assistant", "reasoning", "tool"};
constexpr std::string_view own_key = "millrace";
constexpr std::string_view encrypted_key = "encryptedValue";

using Rows = std::map<std::string_view, const store::MessageRow*>;

// A message without words may have the member or not.
bool is_same_content(const Tree& one, const Tree& other) {
  const auto is_empty = [](const Tree& content) {
    return content.is_null() || (content.is_string() && content.string().empty());
  };
  return one == other || (is_empty(one) && is_empty(other));
}

bool is_same_call(const Tree& given, const Tree& stored) {
  return given["id"].string() == stored["id"].string() && given["function"] == stored["function"];
}

// True where the message shows what the row shows.
bool fits(const Tree& given, const Tree& stored) {
  const Tree::Items& calls = given["toolCalls"].items();
  const Tree::Items& stored_calls = stored["toolCalls"].items();
  return is_same_content(given["content"], stored["content"]) &&
         given["toolCallId"] == stored["toolCallId"] &&
         std::equal(calls.begin(), calls.end(), stored_calls.begin(), stored_calls.end(),
                    is_same_call);
}

bool has_record(const Tree& one) {
  return !one["metadata"][own_key].is_null() || !one[encrypted_key].is_null();
}

bool has_any_record(const Tree& message) {
  const Tree::Items& calls = message["toolCalls"].items();
  return has_record(message) || std::any_of(calls.begin(), calls.end(), has_record);
}

// Gives a message or a call the record of its row.
bool take_record(Tree& given, const Tree& stored) {
  if (!has_record(stored)) return false;
  const Tree& own = stored["metadata"][own_key];
  if (!own.is_null()) given.at("metadata").set(own_key, own);
  if (!stored[encrypted_key].is_null()) given.set(encrypted_key, stored[encrypted_key]);
  return true;
}

bool take_records(Tree& given, const Tree& stored) {
  bool is_changed = take_record(given, stored);
  if (!given["toolCalls"].is_array()) return is_changed;
  Tree::Items& calls = given.at("toolCalls").items();
  const Tree::Items& stored_calls = stored["toolCalls"].items();
  for (std::size_t at = 0; at < calls.size(); ++at) {
    is_changed = take_record(calls[at], stored_calls[at]) || is_changed;
  }
  return is_changed;
}

// The row of a message; nothing without one. Reasoning may have the id of its answer: the thread
// has it under another (thread_messages.hpp).
Tree stored_of(const Rows& rows, const Tree& message) {
  const std::string id(message["id"].string());
  const std::string_view role = message["role"].string();
  for (const std::string& name : {id, id + "-" + std::string(role)}) {
    const auto found = rows.find(name);
    if (found == rows.end()) continue;
    auto stored = Tree::parse(found->second->json);
    if (stored && stored.value()["role"].string() == role) return std::move(stored).value();
  }
  return {};
}

bool is_recorded_role(std::string_view role) {
  return std::find(recorded_roles.begin(), recorded_roles.end(), role) != recorded_roles.end();
}

}  // namespace

bool lacks_record(const AgentInput& input) {
  const bool keeps_none = !encoder::is_modern_client(input.protocol_version);
  return (keeps_none || input.withheld.count > 0) && !input.thread_id.empty() &&
         !input.has_made_ids && !input.thread &&
         input.messages_json.find(R"("role":"assistant")") != std::string::npos;
}

Result<AgentInput> with_thread_record(store::StorageBackend& backend, const std::string& principal,
                                      AgentInput input) {
  auto given = Tree::parse(input.messages_json);
  if (!given) return std::move(given).error();
  auto thread = backend.messages(principal, input.thread_id);
  if (!thread) return std::move(thread).error();
  Rows rows;
  for (const store::MessageRow& row : thread.value()) rows.emplace(row.id, &row);
  bool is_changed = false;
  for (Tree& message : given.value().items()) {
    if (rows.empty() || !is_recorded_role(message["role"].string())) continue;
    if (input.withheld.count == 0 && has_any_record(message)) continue;
    const Tree stored = stored_of(rows, message);
    if (!has_any_record(stored)) continue;
    if (fits(message, stored)) {
      is_changed = take_records(message, stored) || is_changed;
    } else {
      ++input.unfit_records;
    }
  }
  if (!is_changed) return input;
  input.messages_json = given.value().to_json();
  if (!input.state_messages.is_array()) return input;
  auto state_messages = agent::state_messages_of(input.messages_json);
  if (!state_messages) return std::move(state_messages).error();
  input.state_messages = std::move(state_messages).value();
  return input;
}

}  // namespace millrace::run
