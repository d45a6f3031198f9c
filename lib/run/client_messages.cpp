#include "run/client_messages.hpp"

#include <set>

#include "agent/state_messages.hpp"
#include "message/message.hpp"
#include "run/stored_members.hpp"

namespace millrace::run {
namespace {

bool is_added(const json::Tree& row) {
  const std::string_view id = row["id"].string();
  return row["role"].string() == "system" &&
         (id.starts_with(instructions_id) || id.starts_with(context_id));
}

}  // namespace

std::string client_messages(const json::Tree& state_messages, const json::Tree::Items& sent) {
  json::Tree rows = json::Tree::array();
  std::set<std::string_view> ids;
  for (const json::Tree& row : state_messages.items()) {
    if (row["role"].string() == "compressedGroup") return {};
    ids.insert(row["id"].string());
    if (!is_added(row)) rows.push(row);
  }
  for (const json::Tree& row : sent) {
    if (!ids.contains(row["id"].string())) rows.push(as_state_message(row));
  }
  if (rows.items().empty()) return {};
  const auto messages = agent::messages_of(rows);
  return messages ? message::to_json(messages.value()) : std::string();
}

}  // namespace millrace::run
