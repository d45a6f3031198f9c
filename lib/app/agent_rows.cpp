#include "app/agent_rows.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

namespace millrace::app {
namespace {

using json::Tree;

// Members of a row that are canonical, with their canonical names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> members{{
    {"id", "id"},
    {"role", "role"},
    {"content", "content"},
    {"tool_calls", "toolCalls"},
    {"tool_call_id", "toolCallId"},
    {"name", "name"},
    {"error", "error"},
    {"encryptedValue", "encryptedValue"},
    {"metadata", "metadata"},
    {"activityType", "activityType"},
}};

void append_row(std::string& out, const Tree& row) {
  out.push_back('{');
  for (const auto& [own, canonical] : members) {
    const Tree* value = row.find(own);
    if (value == nullptr || value->is_null()) continue;
    if (out.back() != '{') out.push_back(',');
    out.append("\"").append(canonical).append("\":");
    value->write(out, json::Surrogates::keep);
  }
  out.push_back('}');
}

const Tree* call_of(const Tree& row, std::string_view id) {
  for (const Tree& call : row["tool_calls"].items()) {
    if (call["id"].string() == id) return &call;
  }
  return nullptr;
}

// Ids of the calls of a turn that the provider ran itself: those it answered, and those that it
// says are its own, whose result may come with the next turn.
std::set<std::string, std::less<>> provider_calls(const Tree& turn) {
  std::set<std::string, std::less<>> ids;
  for (const Tree& message : turn.items()) {
    if (message["role"].string() == "tool") ids.emplace(message["toolCallId"].string());
    for (const Tree& call : message["toolCalls"].items()) {
      const auto& states = call["metadata"]["millrace"]["providerState"].items();
      const bool is_own = std::any_of(states.begin(), states.end(), [](const Tree& state) {
        return state["kind"].string() == "server_tool";
      });
      if (is_own) ids.emplace(call["id"].string());
    }
  }
  return ids;
}

// The messages of a turn as the row has them now: calls may have been edited or dropped.
void add_turn(Tree& out, const Tree& row) {
  const auto theirs = provider_calls(row["turn"]);
  for (const Tree& message : row["turn"].items()) {
    Tree made = message;
    if (Tree* calls = made.find("toolCalls")) {
      Tree kept = Tree::array();
      for (Tree& call : calls->items()) {
        const Tree* now = call_of(row, call["id"].string());
        if (now == nullptr && !theirs.contains(call["id"].string())) continue;
        if (now != nullptr) {
          call.at("function").set("arguments", (*now)["function"]["arguments"]);
        }
        kept.push(std::move(call));
      }
      if (kept.items().empty()) {
        made.erase("toolCalls");
      } else {
        *calls = std::move(kept);
      }
    }
    out.push(std::move(made));
  }
}

Tree row_call(const message::ToolCall& call) {
  Tree made = Tree::object();
  made.set("id", call.id);
  made.set("type", "function");
  made.at("function").set("name", call.name);
  made.at("function").set("arguments", call.arguments);
  return made;
}

bool is_plain(const message::Message& message) {
  if (message.role != message::Role::assistant || message.encrypted_value || message.name) {
    return false;
  }
  if (!message.metadata.empty() || !message.extra.empty()) return false;
  for (const message::ToolCall& call : message.tool_calls) {
    if (call.encrypted_value || !call.metadata.empty()) return false;
  }
  return message.content.kind != message::Content::Kind::parts;
}

}  // namespace

const Tree* find_by(const Tree& list, std::string_view member, std::string_view value) {
  const auto& items = list.items();
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Tree& item) { return item[member].string() == value; });
  return found == items.end() ? nullptr : &*found;
}

Result<Tree> rows_of(std::string_view canonical_json) {
  auto parsed = Tree::parse(canonical_json);
  if (!parsed) return std::move(parsed).error();
  Tree rows = std::move(parsed).value();
  for (Tree& row : rows.items()) {
    for (auto& [key, value] : row.members()) {
      if (key == "toolCalls") key = json::Key("tool_calls");
      if (key == "toolCallId") key = json::Key("tool_call_id");
    }
  }
  return rows;
}

std::string messages_of(const Tree& rows) {
  std::string out = "[";
  const auto comma = [&out] {
    if (out.size() > 1) out.push_back(',');
  };
  for (const Tree& row : rows.items()) {
    if (!row["turn"].is_array()) {
      comma();
      append_row(out, row);
      continue;
    }
    Tree turn = Tree::array();
    add_turn(turn, row);
    for (const Tree& message : turn.items()) {
      comma();
      message.write(out, json::Surrogates::keep);
    }
  }
  out.push_back(']');
  return out;
}

Tree chunk_of(const message::Messages& turn) {
  Tree chunk = Tree::object();
  Tree calls = Tree::array();
  std::string content;
  std::string reasoning;
  Tree kept;
  if (turn.size() != 1 || !is_plain(turn.front())) {
    auto parsed = Tree::parse(message::to_json(turn));
    if (parsed) kept = std::move(parsed).value();
  }
  const auto theirs = provider_calls(kept);
  for (const message::Message& message : turn) {
    if (message.role == message::Role::reasoning) {
      reasoning.append(message.content.text);
      continue;
    }
    if (message.role != message::Role::assistant) continue;
    content.append(message.content.text);
    for (const message::ToolCall& call : message.tool_calls) {
      if (!theirs.contains(call.id)) calls.push(row_call(call));
    }
    chunk.set("messageId", message.id);
  }
  chunk.set("content", content);
  chunk.set("tool_calls", std::move(calls));
  if (!reasoning.empty()) chunk.at("reasoning").set("content", reasoning);
  if (!kept.items().empty()) chunk.set("turn", std::move(kept));
  chunk.fit();
  return chunk;
}

}  // namespace millrace::app
