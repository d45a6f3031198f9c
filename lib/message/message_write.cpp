// Canonical messages -> JSON, as a text or as a tree.

#include <utility>

#include "base/json_tree.hpp"
#include "message/message.hpp"

namespace millrace::message {
namespace {

using json::Tree;

// Builds a tree as JsonBuilder builds a text: with the same calls, in the same order.
class TreeBuilder {
 public:
  void open_object() { open({}, Tree::object()); }
  void open_object(std::string_view key) { open(key, Tree::object()); }
  void open_array() { open({}, Tree::array()); }
  void open_array(std::string_view key) { open(key, Tree::array()); }
  void close_object() { close(); }
  void close_array() { close(); }

  void text(std::string_view key, std::string_view value) { add(key, Tree::text(value)); }
  void filled(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void raw(std::string_view json) { add({}, read(json)); }
  void raw(std::string_view key, std::string_view json) { add(key, read(json)); }
  void members(std::string_view json) {
    if (json.empty()) return;
    Tree read_members = read("{" + std::string(json) + "}");
    for (auto& [key, value] : read_members.members()) add(key, std::move(value));
  }

  [[nodiscard]] Tree take() { return std::move(made_); }

 private:
  struct Open {
    std::string key;
    Tree value;
  };

  static Tree read(std::string_view json) {
    auto parsed = Tree::parse(json);
    return parsed ? std::move(parsed).value() : Tree();
  }
  void open(std::string_view key, Tree value) {
    open_.push_back({std::string(key), std::move(value)});
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) {
      made_ = std::move(done.value);
    } else {
      add(done.key, std::move(done.value));
    }
  }
  void add(std::string_view key, Tree value) {
    Tree& holder = open_.back().value;
    if (holder.is_array()) {
      holder.push(std::move(value));
    } else {
      holder.set(key, std::move(value));
    }
  }

  std::vector<Open> open_;
  Tree made_;
};

template <class Out>
void write_text(Out& out, std::string_view key, const std::optional<std::string>& value) {
  if (value) out.text(key, *value);
}

template <class Out>
void write_own_metadata(Out& out, const Metadata& metadata) {
  if (metadata.provider_state.empty() && metadata.citations.empty() && metadata.order->empty() &&
      metadata.own.empty()) {
    return;
  }
  out.open_object("millrace");
  if (!metadata.provider_state.empty()) {
    out.open_array("providerState");
    for (const ProviderState& state : metadata.provider_state) {
      out.open_object();
      out.text("provider", state.provider);
      out.text("kind", state.kind);
      if (!state.json.empty()) out.raw("state", state.json);
      out.close_object();
    }
    out.close_array();
  }
  if (!metadata.citations.empty()) {
    out.open_array("citations");
    for (const std::string& citation : metadata.citations) out.raw(citation);
    out.close_array();
  }
  if (!metadata.order->empty()) out.raw("order", *metadata.order);
  out.members(metadata.own);
  out.close_object();
}

template <class Out>
void write_metadata(Out& out, const Metadata& metadata) {
  if (metadata.empty()) return;
  out.open_object("metadata");
  for (const auto& [key, json] : metadata.others) out.raw(key, json);
  write_own_metadata(out, metadata);
  out.close_object();
}

template <class Out>
void write_calls(Out& out, const std::vector<ToolCall>& calls) {
  if (calls.empty()) return;
  out.open_array("toolCalls");
  for (const ToolCall& call : calls) {
    out.open_object();
    out.text("id", call.id);
    out.text("type", "function");
    out.open_object("function");
    out.text("name", call.name);
    out.text("arguments", call.arguments);
    out.members(call.function_extra);
    out.close_object();
    write_text(out, "encryptedValue", call.encrypted_value);
    write_metadata(out, call.metadata);
    out.members(call.extra);
    out.close_object();
  }
  out.close_array();
}

template <class Out>
void write_to(Out& out, const Message& message) {
  out.open_object();
  out.filled("id", message.id);
  out.text("role", name_of(message.role));
  out.filled("activityType", message.activity_type);
  switch (message.content.kind) {
    case Content::Kind::absent: break;
    case Content::Kind::text: out.text("content", message.content.text); break;
    case Content::Kind::parts:
    case Content::Kind::object: out.raw("content", message.content.text); break;
  }
  write_calls(out, message.tool_calls);
  const bool answers = message.role == Role::tool || !message.tool_call_id.empty();
  if (answers) out.text("toolCallId", message.tool_call_id);
  write_text(out, "name", message.name);
  write_text(out, "error", message.error);
  write_text(out, "encryptedValue", message.encrypted_value);
  write_text(out, "subagentRunId", message.subagent_run_id);
  write_metadata(out, message.metadata);
  out.members(message.extra);
  out.close_object();
}

}  // namespace

void write_message(JsonBuilder& out, const Message& message) {
  write_to(out, message);
}

void write_messages(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  for (const Message& message : messages) write_message(out, message);
  out.close_array();
}

Tree to_tree(std::span<const Message> messages) {
  TreeBuilder out;
  out.open_array();
  for (const Message& message : messages) write_to(out, message);
  out.close_array();
  return out.take();
}

std::string to_json(std::span<const Message> messages) {
  JsonBuilder out;
  write_messages(out, messages);
  return out.take();
}

}  // namespace millrace::message
