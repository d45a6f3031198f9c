#include "agent/open_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
using Ids = std::unordered_set<std::string_view>;

// The id of the call that a row has the result of.
std::string_view call_id_of(const Tree& row) {
  const Tree& known = row["plugin"]["id"];
  return (known.is_null() ? row["tool_call_id"] : known).string();
}

// The calls whose rows say that they are over.
Ids ended_in(Rows rows) {
  Ids ended;
  for (const Tree& row : rows) {
    if (row["role"].string() == "tool" && !is_pending(row)) ended.insert(call_id_of(row));
  }
  return ended;
}

// Open calls, each once: a row of its own and the group that shows a call may both have it.
class OpenCalls {
 public:
  // A row of its own knows better than the group that shows the call.
  explicit OpenCalls(Ids ended) : ended_(std::move(ended)) {}

  void add_row(const Tree& row) { add(call_id_of(row), call_of_message(row)); }
  // Those that are not approved yet in a turn of a group.
  void add_turn(const Tree& turn) {
    for (const Tree& call : turn["tools"].items()) {
      if (!is_open_call(call) || ended_.contains(call["id"].string())) continue;
      Tree made = call;
      for (const std::string_view member : {"intervention", "result", "result_msg_id"}) {
        made.erase(member);
      }
      add(call["id"].string(), std::move(made));
    }
  }
  Tree take() { return std::move(calls_); }

 private:
  void add(std::string_view id, Tree call) {
    if (id.empty() || known_.insert(id).second) calls_.push(std::move(call));
  }

  Ids ended_;
  Ids known_;
  Tree calls_ = Tree::array();
};

using Interventions = std::unordered_map<std::string_view, const Tree*>;

// What is known of the approvals of calls: in the rows of their results, or in the turns that show
// them.
Interventions interventions_in(const Tree& messages) {
  Interventions known;
  const auto add_turn = [&](const Tree& turn) {
    for (const Tree& call : turn["tools"].items()) {
      known.insert_or_assign(call["id"].string(), &call["intervention"]);
    }
  };
  for (const Tree& message : messages.items()) {
    add_turn(message);
    for (const Tree& turn : message["children"].items()) add_turn(turn);
  }
  for (const Tree& message : messages.items()) {
    if (!is_pending(message)) continue;
    known.insert_or_assign(call_id_of(message), &message["pluginIntervention"]);
  }
  return known;
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
  const auto turn = std::find_if(state_messages.rbegin(), state_messages.rend(), is_tool_turn);
  if (turn == state_messages.rend()) return Tree::array();
  const Tree* inner = tool_turn_in(*turn);
  // Rows of its calls are behind it.
  const auto behind = static_cast<std::size_t>(turn.base() - state_messages.begin());
  const Rows later = Rows(state_messages).subspan(behind);
  OpenCalls calls(ended_in(later));
  if (inner != nullptr) calls.add_turn(*inner);
  for (const Tree& row : later) {
    if (!is_pending(row)) continue;
    const Tree& parent = row["parentId"];
    const bool own = parent == (*turn)["id"] || (inner != nullptr && parent == (*inner)["id"]);
    if (own) calls.add_row(row);
  }
  return calls.take();
}

Tree all_open_calls(const Tree& messages) {
  OpenCalls calls(ended_in(messages.items()));
  for (const Tree& message : messages.items()) {
    for (const Tree& turn : message["children"].items()) calls.add_turn(turn);
    if (is_pending(message)) calls.add_row(message);
  }
  return calls.take();
}

Tree batch_of_calls(const Tree& messages, const Tree& calls) {
  const Interventions interventions = interventions_in(messages);
  Tree batch = Tree::object();
  for (const Tree& call : calls.items()) {
    const auto known = interventions.find(call["id"].string());
    if (known == interventions.end()) return {};
    const Tree& intervention = *known->second;
    const bool first = batch["toolCallIds"].is_null();
    const bool same = first || (batch["batchId"] == intervention["batchId"] &&
                                batch["operationId"] == intervention["operationId"]);
    if (!intervention["batchId"].is_string() || !same) return {};
    batch.set("batchId", intervention["batchId"]);
    if (!intervention["operationId"].is_null())
      batch.set("operationId", intervention["operationId"]);
    batch.at("toolCallIds").push(call["id"]);
  }
  return batch["toolCallIds"].is_null() ? Tree() : batch;
}

std::string shown_result_id(const Tree& messages, std::string_view call_id) {
  const Tree* call = owner_of(messages, call_id).call;
  return call == nullptr ? std::string() : std::string((*call)["result_msg_id"].string());
}

// Of several turns that show a call the last one counts.
ShownResults::ShownResults(const Tree& messages) {
  const auto& state_messages = messages.items();
  for (auto row = state_messages.rbegin(); row != state_messages.rend(); ++row) {
    add(*row);
    for (const Tree& turn : (*row)["children"].items()) add(turn);
  }
}

void ShownResults::add(const Tree& turn) {
  for (const std::string_view member : {"tools", "tool_calls"}) {
    for (const Tree& call : turn[member].items()) {
      ids_.try_emplace(std::string(call["id"].string()), call["result_msg_id"].string());
    }
  }
}

std::string ShownResults::of(const std::string& call_id) const {
  const auto known = call_id.empty() ? ids_.end() : ids_.find(call_id);
  return known == ids_.end() ? std::string() : known->second;
}

}  // namespace millrace::agent
