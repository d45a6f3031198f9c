// Events of texts, reasoning and tool calls that come as JSON.

#include "message/fold.hpp"

namespace millrace::message {
namespace {

// An empty delta makes a text; one that is missing does not.
std::optional<std::string_view> delta_of(const json::Value& event) {
  const json::Value delta = event["delta"];
  if (!delta.is_string()) return std::nullopt;
  return delta.string();
}

}  // namespace

void Folder::on_text_start(const json::Value& event) {
  begin_text(event["messageId"].string(), Source(event));
}

void Folder::on_text_content(const json::Value& event) {
  add_text(event["messageId"].string(), delta_of(event), Source(event));
}

void Folder::on_text_end(const json::Value& event) {
  note_end(messages_, event["messageId"].string(), Source(event));
}

void Folder::on_text_chunk(const json::Value& event) {
  const std::string id = chunk_id(event, "messageId");
  if (!id.empty()) add_text(id, delta_of(event), Source(event));
}

void Folder::on_reasoning_start(const json::Value& event) {
  begin_reasoning(event["messageId"].string(), Source(event));
}

void Folder::on_reasoning_content(const json::Value& event) {
  add_reasoning(event["messageId"].string(), delta_of(event), Source(event));
}

void Folder::on_reasoning_end(const json::Value& event) {
  note_end(reasoning_, event["messageId"].string(), Source(event));
}

void Folder::on_reasoning_chunk(const json::Value& event) {
  const std::string id = chunk_id(event, "messageId");
  if (!id.empty()) add_reasoning(id, delta_of(event), Source(event));
}

// The next reasoning part has a new id; also at the end of one.
void Folder::on_thinking_start(const json::Value& /*event*/) {
  thinking_id_.clear();
}

void Folder::on_thinking_content(const json::Value& event) {
  if (thinking_id_.empty()) thinking_id_ = ids_.next_id();
  add_reasoning(thinking_id_, delta_of(event), Source(event));
}

void Folder::on_encrypted(const json::Value& event) {
  set_encrypted(event["subtype"].string(), event["entityId"].string(),
                event["encryptedValue"].string(), Source(event));
}

void Folder::on_tool_start(const json::Value& event) {
  start_call(event["toolCallId"].string(), Source(event));
}

void Folder::on_tool_args(const json::Value& event) {
  add_arguments(event["toolCallId"].string(), event["delta"].string(), Source(event));
}

void Folder::on_tool_end(const json::Value& event) {
  end_call(event["toolCallId"].string(), Source(event));
}

void Folder::on_tool_chunk(const json::Value& event) {
  const std::string id = chunk_id(event, "toolCallId");
  if (id.empty()) return;
  start_call(id, Source(event));
  add_arguments(id, event["delta"].string(), Source(json::Value()));
}

void Folder::on_tool_result(const json::Value& event) {
  const json::Value content = event["content"];
  Message& message = result(event["toolCallId"].string(), event["messageId"].string());
  message.content = content.is_array() ? Content::of_parts(content.to_json(json::Surrogates::keep))
                                       : Content::of_text(content.string());
  message.error.reset();
  if (const auto error = event["error"].filled_string()) {
    message.error = *error;
  } else if (event["isError"].is_true()) {
    message.error = message.content.text;
  }
  if (const auto subagent = event["subagentRunId"].filled_string()) {
    message.subagent_run_id = *subagent;
  }
  merge_event_metadata(message.metadata, event);
}

}  // namespace millrace::message
