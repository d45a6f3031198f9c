#include "agent/open_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace millrace::agent {
namespace {

using json::Tree;

bool is_pending(const Tree& message) {
  return message["role"].string() == "tool" &&
         message["pluginIntervention"]["status"].string() == "pending";
}

Tree call_of_message(const Tree& state_message) {
  Tree call = state_message["plugin"];
  if (call["id"].is_null() && state_message["tool_call_id"].is_string())
    call.set("id", state_message["tool_call_id"]);
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

using Rows = std::span<const Tree>;

// The rows from this one on.
Rows rows_from(const Tree& messages, std::size_t first) {
  return Rows(messages.items()).subspan(first);
}

// A row of its own knows better than the group that shows the call.
bool has_ended(Rows later, const Tree& call) {
  return std::any_of(later.begin(), later.end(), [&](const Tree& row) {
    return row["role"].string() == "tool" && !is_pending(row) &&
           call_of_message(row)["id"] == call["id"];
  });
}

// Calls that a turn in a group says are not approved yet. `later` are the rows behind the group.
void add_open_calls(Tree& pending, const Tree& turn, Rows later) {
  for (const Tree& call : turn["tools"].items()) {
    if (!is_open_call(call) || has_ended(later, call)) continue;
    Tree made = call;
    for (const std::string_view member : {"intervention", "result", "result_msg_id"}) {
      made.erase(member);
    }
    pending.push(std::move(made));
  }
}

bool holds_call(const Tree& calls, const Tree& call) {
  return std::any_of(calls.items().begin(), calls.items().end(), [&](const Tree& other) {
    return other["id"].is_string() && other["id"] == call["id"];
  });
}

// What is known of the approval of a call: in the row of its result, or in the turn that shows it.
const Tree& intervention_of(const Tree& messages, std::string_view id) {
  static const Tree& none = *new Tree;
  const auto& rows = messages.items();
  const auto row = std::find_if(rows.rbegin(), rows.rend(), [&](const Tree& message) {
    return is_pending(message) && call_of_message(message)["id"].string() == id;
  });
  if (row != rows.rend()) return (*row)["pluginIntervention"];
  const Tree* call = owner_of(messages, id).call;
  return call == nullptr ? none : (*call)["intervention"];
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

bool shows_call(const Tree& state_message, std::string_view call_id) {
  if (call_in(state_message, call_id) != nullptr) return true;
  const auto& turns = state_message["children"].items();
  return std::any_of(turns.begin(), turns.end(),
                     [&](const Tree& turn) { return call_in(turn, call_id) != nullptr; });
}

CallOwner owner_of(const Tree& messages, std::string_view call_id) {
  const auto& state_messages = messages.items();
  for (auto state_message = state_messages.rbegin();
       state_message != state_messages.rend() && !call_id.empty(); ++state_message) {
    if (const Tree* call = call_in(*state_message, call_id))
      return {&*state_message, &*state_message, call};
    for (const Tree& turn : (*state_message)["children"].items()) {
      if (const Tree* call = call_in(turn, call_id)) return {&*state_message, &turn, call};
    }
  }
  return {};
}

Tree open_calls(const Tree& messages) {
  const auto& state_messages = messages.items();
  Tree pending = Tree::array();
  const auto turn = std::find_if(state_messages.rbegin(), state_messages.rend(), is_tool_turn);
  if (turn == state_messages.rend()) return pending;
  const Tree* inner = tool_turn_in(*turn);
  // Rows of its calls are behind it.
  const Rows later =
      rows_from(messages, static_cast<std::size_t>(turn.base() - state_messages.begin()));
  if (inner != nullptr) add_open_calls(pending, *inner, later);
  for (const Tree& state_message : later) {
    if (!is_pending(state_message)) continue;
    const Tree& parent = state_message["parentId"];
    const bool own = parent == (*turn)["id"] || (inner != nullptr && parent == (*inner)["id"]);
    Tree call = call_of_message(state_message);
    if (own && !holds_call(pending, call)) pending.push(std::move(call));
  }
  return pending;
}

Tree all_open_calls(const Tree& messages) {
  Tree calls = Tree::array();
  for (std::size_t at = 0; at < messages.items().size(); ++at) {
    const Tree& message = messages.items()[at];
    for (const Tree& turn : message["children"].items()) {
      add_open_calls(calls, turn, rows_from(messages, at + 1));
    }
    if (!is_pending(message)) continue;
    Tree call = call_of_message(message);
    if (!holds_call(calls, call)) calls.push(std::move(call));
  }
  return calls;
}

Tree batch_of_calls(const Tree& messages, const Tree& calls) {
  Tree batch = Tree::object();
  for (const Tree& call : calls.items()) {
    const Tree& known = intervention_of(messages, call["id"].string());
    const bool first = batch["toolCallIds"].is_null();
    const bool same = first || (batch["batchId"] == known["batchId"] &&
                                batch["operationId"] == known["operationId"]);
    if (!known["batchId"].is_string() || !same) return {};
    batch.set("batchId", known["batchId"]);
    if (!known["operationId"].is_null()) batch.set("operationId", known["operationId"]);
    batch.at("toolCallIds").push(call["id"]);
  }
  return batch["toolCallIds"].is_null() ? Tree() : batch;
}

std::string shown_result_id(const Tree& messages, std::string_view call_id) {
  const Tree* call = owner_of(messages, call_id).call;
  return call == nullptr ? std::string() : std::string((*call)["result_msg_id"].string());
}

}  // namespace millrace::agent
