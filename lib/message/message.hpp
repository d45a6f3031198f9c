// Canonical messages: a conversation as AG-UI 1.0 writes it, in C++.
//
// Every format, the fold of events and the model layer meet here. Nothing is lost: members that
// have no field are kept as JSON text. Strings are UTF-8 that may hold lone surrogates
// (base/utf8.hpp); JSON text holds them as escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/optional_box.hpp"
#include "base/result.hpp"
#include "message/json_builder.hpp"

namespace millrace::json {
class Tree;
}

namespace millrace::message {

enum class Role : std::uint8_t { user, assistant, system, developer, tool, reasoning, activity };

std::string_view name_of(Role role);
std::optional<Role> role_named(std::string_view name);

// What a message says: a string, an array of content parts, or an activity's object.
struct Content {
  enum class Kind : std::uint8_t { absent, text, parts, object };
  Kind kind = Kind::absent;
  std::string text;  // the string, or JSON text

  static Content of_text(std::string_view text) { return {Kind::text, std::string(text)}; }
  static Content of_parts(std::string json) { return {Kind::parts, std::move(json)}; }
};

// Something a provider needs again unchanged with the next request (a signature, an item id ...).
// Stands in a message's or tool call's `metadata.millrace.providerState`.
struct ProviderState {
  std::string provider;
  std::string kind;
  std::string json;
};

// The open object `metadata` of a message or tool call.
struct Metadata {
  std::vector<ProviderState> provider_state;  // millrace.providerState
  std::vector<std::string> citations;         // millrace.citations, JSON text each
  Rare<std::string> order;                    // millrace.order, JSON text (part_order.hpp)
  std::string own;                            // further members of `millrace`: `"key":value,...`
  std::vector<std::pair<std::string, std::string>> others;  // key and JSON text

  [[nodiscard]] bool empty() const {
    return provider_state.empty() && citations.empty() && order->empty() && own.empty() &&
           others.empty();
  }
  // The first state of this provider and kind, or nullptr. Most messages have none at all.
  [[nodiscard]] const ProviderState* find(std::string_view provider, std::string_view kind) const {
    return provider_state.empty() ? nullptr : find_among(provider, kind);
  }
  void add(std::string_view provider, std::string_view kind, std::string json) {
    provider_state.push_back({std::string(provider), std::string(kind), std::move(json)});
  }
  // Sets the members of `object`; a member that is there is replaced as a whole.
  void merge(const json::Value& object);

 private:
  [[nodiscard]] const ProviderState* find_among(std::string_view provider,
                                                std::string_view kind) const;
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it; may be broken
  std::optional<std::string> encrypted_value;
  Metadata metadata;
  std::string function_extra;  // further members of `function`: `"key":value,...`
  std::string extra;           // further members
  bool is_audio = false;       // the arguments were read and are an object
};

struct Message {
  Role role = Role::user;
  std::string id;  // "" when the source gave none
  Content content;
  std::vector<ToolCall> tool_calls;  // assistant
  std::string tool_call_id;          // tool
  std::string activity_type;         // activity
  std::optional<std::string> name;
  std::optional<std::string> error;  // tool: what failed
  std::optional<std::string> encrypted_value;
  std::optional<std::string> subagent_run_id;
  Metadata metadata;
  std::string extra;  // further members: `"key":value,...`
};

using Messages = std::vector<Message>;

// Reads the JSON text of an array of messages.
// Errors: invalid_json, json_too_deep; invalid_messages names the index and the member.
Result<Messages> parse_messages(std::string_view json);
Result<Messages> read_messages(const json::Value& array);
// What is no part at all has no place in what a model is sent, so that callers are told; folds and
// clients' messages carry it.
// Errors: invalid_messages.
Result<void> check_parts(const json::Value& messages);
// Reads one message; `where` names it in an error, e.g. "messages[3]".
Result<Message> read_message(const json::Value& value, std::string_view where);

// Members in AG-UI's order: id, role, content, then those of the role.
void write_message(JsonBuilder& out, const Message& message);
void write_messages(JsonBuilder& out, std::span<const Message> messages);
std::string to_json(std::span<const Message> messages);
// The same as a tree.
json::Tree to_tree(std::span<const Message> messages);

}  // namespace millrace::message
