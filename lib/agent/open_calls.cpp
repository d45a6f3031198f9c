#include "agent/open_calls.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace millrace::agent {
namespace {

using json::Tree;

bool is_pending(const Tree& message) {
  return message["role"].string() == "tool" &&
         message["pluginIntervention"]["status"].string() == "pending";
}

Tree call_of_row(const Tree& row) {
  Tree call = row["plugin"];
  if (call["id"].is_null() && row["tool_call_id"].is_string()) call.set("id", row["tool_call_id"]);
  return call;
}

bool has_calls(const Tree& message) {
  return !message["tool_calls"].items().empty() || !message["tools"].items().empty();
}

// The last turn in a group of turns that asks for tools; such a group is how LobeHub shows a run.
const Tree* tool_turn_in(const Tree& group) {
  const auto& turns = group["children"].items();
  const auto found = std::find_if(turns.rbegin(), turns.rend(), has_calls);
  return found == turns.rend() ? nullptr : &*found;
}

// A row of the assistant that asks for tools.
bool is_tool_turn(const Tree& message) {
  const std::string_view role = message["role"].string();
  if (role == "assistantGroup") return tool_turn_in(message) != nullptr;
  return role == "assistant" && has_calls(message);
}

bool is_open_call(const Tree& call) {
  return call["intervention"]["status"].string() == "pending";
}

// Calls that a turn in a group says are not approved yet.
void add_open_calls(Tree& pending, const Tree& turn) {
  for (const Tree& call : turn["tools"].items()) {
    if (!is_open_call(call)) continue;
    Tree made = call;
    for (const std::string_view member : {"intervention", "result", "result_msg_id"}) {
      made.erase(member);
    }
    pending.push(std::move(made));
  }
}

bool holds_call(const Tree& calls, const Tree& call) {
  return std::any_of(calls.items().begin(), calls.items().end(),
                     [&](const Tree& other) { return other["id"] == call["id"]; });
}

const Tree* call_in(const Tree& turn, std::string_view id) {
  for (const std::string_view member : {"tools", "tool_calls"}) {
    for (const Tree& call : turn[member].items()) {
      if (call["id"].string() == id) return &call;
    }
  }
  return nullptr;
}

}  // namespace

bool shows_call(const Tree& row, std::string_view call_id) {
  if (call_in(row, call_id) != nullptr) return true;
  const auto& turns = row["children"].items();
  return std::any_of(turns.begin(), turns.end(),
                     [&](const Tree& turn) { return call_in(turn, call_id) != nullptr; });
}

CallOwner owner_of(const Tree& messages, std::string_view call_id) {
  const auto& rows = messages.items();
  for (auto row = rows.rbegin(); row != rows.rend() && !call_id.empty(); ++row) {
    if (const Tree* call = call_in(*row, call_id)) return {&*row, &*row, call};
    for (const Tree& turn : (*row)["children"].items()) {
      if (const Tree* call = call_in(turn, call_id)) return {&*row, &turn, call};
    }
  }
  return {};
}

Tree open_calls(const Tree& messages) {
  const auto& rows = messages.items();
  Tree pending = Tree::array();
  const auto turn = std::find_if(rows.rbegin(), rows.rend(), is_tool_turn);
  if (turn == rows.rend()) return pending;
  const Tree* inner = tool_turn_in(*turn);
  if (inner != nullptr) add_open_calls(pending, *inner);
  // Rows of its calls are behind it.
  for (auto row = turn.base(); row != rows.end(); ++row) {
    if (!is_pending(*row)) continue;
    const Tree& parent = (*row)["parentId"];
    const bool own = parent == (*turn)["id"] || (inner != nullptr && parent == (*inner)["id"]);
    Tree call = call_of_row(*row);
    if (own && !holds_call(pending, call)) pending.push(std::move(call));
  }
  return pending;
}

Tree all_open_calls(const Tree& messages) {
  Tree calls = Tree::array();
  for (const Tree& message : messages.items()) {
    for (const Tree& turn : message["children"].items()) add_open_calls(calls, turn);
    if (is_pending(message)) calls.push(call_of_row(message));
  }
  return calls;
}

}  // namespace millrace::agent
