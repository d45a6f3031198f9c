#include "agent/state_messages.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "agent/approval/vendor_approvals.hpp"
#include "agent/vendor_calls.hpp"
#include "base/partial_json.hpp"
#include "base/utf8.hpp"

namespace millrace::agent {
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

Tree canonical_message(const Tree& state_message) {
  Tree made = Tree::object();
  for (const auto& [own, canonical] : members) {
    if (const Tree& value = state_message[own]; !value.is_null()) made.set(canonical, value);
  }
  return made;
}

// Reads a message as it would be in JSON.
Result<void> add_read(message::Messages& out, const Tree& canonical) {
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(canonical.to_json());
  if (!parsed) return parsed.error();
  auto read = message::read_message(parsed.value(), "messages[" + std::to_string(out.size()) + "]");
  if (!read) return std::move(read).error();
  out.push_back(std::move(read).value());
  return {};
}

// False when the value is no text, or none that JSON would carry as it is.
bool take_text(std::string& out, const Tree& value) {
  if (!value.is_string() || !utf8::is_valid(value.string())) return false;
  out = value.string();
  return true;
}

// False when the call has more than its name and its arguments.
bool take_call(message::ToolCall& out, const Tree& call) {
  for (const auto& [key, value] : call.members()) {
    if (key == "id") {
      if (!take_text(out.id, value)) return false;
    } else if (key == "function") {
      for (const auto& [name, member] : value.members()) {
        if (name != "name" && name != "arguments") return false;
        if (!take_text(name == "name" ? out.name : out.arguments, member)) return false;
      }
    } else if (key != "type") {
      return false;
    }
  }
  return call["function"].is_object();
}

bool take_calls(std::vector<message::ToolCall>& out, const Tree& calls) {
  if (!calls.is_array() || !out.empty()) return false;
  out.reserve(calls.items().size());
  for (const Tree& call : calls.items()) {
    if (!take_call(out.emplace_back(), call)) return false;
  }
  return true;
}

// Nearly all rows are texts and calls and nothing more: they need not become JSON to be read.
// Nothing for the others, and for those that are wrong.
std::optional<message::Message> text_message(const Tree& state_message) {
  message::Message made;
  bool has_role = false;
  for (const auto& [key, value] : state_message.members()) {
    bool taken = true;
    if (value.is_null()) continue;
    if (key == "id") {
      taken = take_text(made.id, value);
    } else if (key == "role") {
      const auto role = message::role_named(value.string());
      has_role = role && *role != message::Role::activity;
      if (has_role) made.role = *role;
    } else if (key == "content") {
      made.content.kind = message::Content::Kind::text;
      taken = take_text(made.content.text, value);
    } else if (key == "tool_calls") {
      taken = take_calls(made.tool_calls, value);
    } else if (key == "tool_call_id") {
      taken = take_text(made.tool_call_id, value);
    } else if (key == "name") {
      taken = take_text(made.name.emplace(), value);
    } else if (key == "error") {
      taken = take_text(made.error.emplace(), value);
    } else {
      // What else is canonical is read of JSON; the rest is the run's own.
      taken = std::none_of(members.begin(), members.end(),
                           [&, &own = key](const auto& m) { return own == m.first; });
    }
    if (!taken) return std::nullopt;
  }
  const bool answers = made.role != message::Role::tool || !state_message["tool_call_id"].is_null();
  if (!has_role || !answers) return std::nullopt;
  return made;
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
void add_turn(Tree& out, const Tree& state_message) {
  const auto theirs = provider_calls(state_message["turn"]);
  std::unordered_map<std::string_view, const Tree*> own;
  for (const Tree& call : state_message["tool_calls"].items())
    own.emplace(call["id"].string(), &call);
  for (const Tree& message : state_message["turn"].items()) {
    Tree made = message;
    if (Tree* calls = made.find("toolCalls")) {
      Tree retained = Tree::array();
      for (Tree& call : calls->items()) {
        const auto found = own.find(call["id"].string());
        const Tree* now = found == own.end() ? nullptr : found->second;
        if (now == nullptr && !theirs.contains(call["id"].string())) continue;
        if (now != nullptr) {
          call.at("function").set("arguments", (*now)["function"]["arguments"]);
        }
        retained.push(std::move(call));
      }
      if (retained.items().empty()) {
        made.erase("toolCalls");
      } else {
        *calls = std::move(retained);
      }
    }
    out.push(std::move(made));
  }
}

// Appends what the row stands for.
Result<void> add_message(message::Messages& out, const Tree& state_message) {
  if (state_message["turn"].is_array()) {
    Tree turn = Tree::array();
    add_turn(turn, state_message);
    for (const Tree& message : turn.items()) MILLRACE_TRY(add_read(out, message));
    return {};
  }
  if (is_mcp_answer(state_message)) return add_message(out, mcp_answer(state_message));
  auto message = text_message(state_message);
  if (!message) return add_read(out, canonical_message(state_message));
  out.push_back(*std::move(message));
  return {};
}

// Arguments that are read here are not read for each request.
void note_audio_calls(message::Message& message) {
  for (message::ToolCall& call : message.tool_calls) {
    call.is_audio = json::object_text(call.arguments) == call.arguments;
  }
}

Tree message_call(const message::ToolCall& call) {
  Tree made = Tree::object();
  made.set("id", call.id);
  made.set("type", "function");
  made.at("function").set("name", call.name);
  made.at("function").set("arguments", call.arguments);
  if (Tree checks = pending_checks_of(call); !checks.is_null()) {
    made.set(pending_checks_member, std::move(checks));
  }
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

Result<Tree> state_messages_of(std::string_view canonical_json) {
  auto parsed = Tree::parse(canonical_json);
  if (!parsed) return std::move(parsed).error();
  Tree state_messages = std::move(parsed).value();
  for (Tree& state_message : state_messages.items()) {
    for (auto& [key, value] : state_message.members()) {
      if (key == "toolCalls") key = json::Key("tool_calls");
      if (key == "toolCallId") key = json::Key("tool_call_id");
    }
  }
  return state_messages;
}

Result<message::Messages> messages_of(const Tree& state_messages) {
  message::Messages made;
  made.reserve(state_messages.items().size());
  for (const Tree& state_message : state_messages.items())
    MILLRACE_TRY(add_message(made, state_message));
  return made;
}

Result<message::SharedMessages> RowMessages::take(const Tree& state_messages) {
  const auto& items = state_messages.items();
  const auto differs = std::mismatch(read_.begin(), read_.end(), items.begin(), items.end(),
                                     [](const Read& read, const Tree& state_message) {
                                       return read.state_message.is_same(state_message);
                                     });
  read_.erase(differs.first, read_.end());
  message::Messages& made = messages_.edit();
  made.resize(read_.empty() ? 0 : read_.back().end);
  for (auto state_message = differs.second; state_message != items.end(); ++state_message) {
    const std::size_t from = made.size();
    MILLRACE_TRY(add_message(made, *state_message));
    for (std::size_t at = from; at < made.size(); ++at) note_audio_calls(made[at]);
    read_.push_back({*state_message, made.size()});
  }
  return messages_;
}

Tree chunk_of(const message::Messages& turn) {
  Tree chunk = Tree::object();
  Tree calls = Tree::array();
  std::string content;
  std::string reasoning;
  Tree retained;
  if (turn.size() != 1 || !is_plain(turn.front())) {
    retained = message::to_tree(turn);
  }
  const auto theirs = provider_calls(retained);
  for (const message::Message& message : turn) {
    if (message.role == message::Role::reasoning) {
      reasoning.append(message.content.text);
      continue;
    }
    if (message.role != message::Role::assistant) continue;
    content.append(message.content.text);
    for (const message::ToolCall& call : message.tool_calls) {
      if (!theirs.contains(call.id)) calls.push(message_call(call));
    }
    chunk.set("messageId", message.id);
  }
  chunk.set("content", content);
  chunk.set("tool_calls", std::move(calls));
  if (!reasoning.empty()) chunk.at("reasoning").set("content", reasoning);
  if (!retained.items().empty()) chunk.set("turn", std::move(retained));
  chunk.fit();
  return chunk;
}

}  // namespace millrace::agent
