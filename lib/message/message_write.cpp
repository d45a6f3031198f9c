// Canonical messages -> JSON.

#include "message/message.hpp"

namespace millrace::message {
namespace {

void write_text(JsonBuilder& out, std::string_view key, const std::optional<std::string>& value) {
  if (value) out.text(key, *value);
}

void write_own_metadata(JsonBuilder& out, const Metadata& metadata) {
  if (metadata.provider_state.empty() && metadata.citations.empty() && metadata.own.empty()) return;
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
  out.members(metadata.own);
  out.close_object();
}

void write_metadata(JsonBuilder& out, const Metadata& metadata) {
  if (metadata.empty()) return;
  out.open_object("metadata");
  for (const auto& [key, json] : metadata.others) out.raw(key, json);
  write_own_metadata(out, metadata);
  out.close_object();
}

void write_calls(JsonBuilder& out, const std::vector<ToolCall>& calls) {
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

}  // namespace

void write_message(JsonBuilder& out, const Message& message) {
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

void write_messages(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  for (const Message& message : messages) write_message(out, message);
  out.close_array();
}

std::string to_json(std::span<const Message> messages) {
  JsonBuilder out;
  write_messages(out, messages);
  return out.take();
}

}  // namespace millrace::message
