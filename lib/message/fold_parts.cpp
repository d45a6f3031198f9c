// What the events of texts, thoughts and tool calls do to the messages of a folder.

#include <utility>

#include "base/utf8.hpp"
#include "message/fold.hpp"

namespace millrace::message {
namespace {

// Appends a delta; the halves of a surrogate pair may come in two.
void append(std::string& text, std::string_view delta) {
  if (utf8::ends_with_high_surrogate(text) && utf8::begins_with_low_surrogate(delta)) {
    const std::string high = text.substr(text.size() - utf8::surrogate_bytes);
    text.resize(text.size() - utf8::surrogate_bytes);
    utf8::append_code_point(text, utf8::join_surrogates(high, delta));
    delta.remove_prefix(utf8::surrogate_bytes);
  }
  text.append(delta);
}

void append_text(Message& message, const json::Value& delta) {
  if (!delta.is_string()) return;
  if (message.content.kind == Content::Kind::absent) message.content.kind = Content::Kind::text;
  if (message.content.kind == Content::Kind::text) append(message.content.text, delta.string());
}

}  // namespace

// ---- text and reasoning

void Folder::on_text_start(const json::Value& event) {
  merge_event_metadata(text(event["messageId"].string(), event)->message.metadata, event);
}

void Folder::on_text_content(const json::Value& event) {
  Message& message = text(event["messageId"].string(), event)->message;
  append_text(message, event["delta"]);
  merge_event_metadata(message.metadata, event);
}

void Folder::on_text_end(const json::Value& event) {
  const auto found = messages_.find(event["messageId"].string());
  if (found != messages_.end()) merge_event_metadata(found->second->message.metadata, event);
}

void Folder::on_text_chunk(const json::Value& event) {
  const std::string id = chunk_id(event, "messageId");
  if (id.empty()) return;
  Message& message = text(id, event)->message;
  append_text(message, event["delta"]);
  merge_event_metadata(message.metadata, event);
}

void Folder::on_reasoning_start(const json::Value& event) {
  merge_event_metadata(reasoning(event["messageId"].string(), event)->message.metadata, event);
}

void Folder::on_reasoning_content(const json::Value& event) {
  Message& message = reasoning(event["messageId"].string(), event)->message;
  append_text(message, event["delta"]);
  merge_event_metadata(message.metadata, event);
}

void Folder::on_reasoning_end(const json::Value& event) {
  const auto found = reasoning_.find(event["messageId"].string());
  if (found != reasoning_.end()) merge_event_metadata(found->second->message.metadata, event);
}

void Folder::on_reasoning_chunk(const json::Value& event) {
  const std::string id = chunk_id(event, "messageId");
  if (id.empty()) return;
  Message& message = reasoning(id, event)->message;
  append_text(message, event["delta"]);
  merge_event_metadata(message.metadata, event);
}

// The next thought has a new id; also at the end of one.
void Folder::on_thinking_start(const json::Value& /*event*/) {
  thinking_id_.clear();
}

void Folder::on_thinking_content(const json::Value& event) {
  if (thinking_id_.empty()) thinking_id_ = ids_.next_id();
  append_text(reasoning(thinking_id_, event)->message, event["delta"]);
}

void Folder::on_encrypted(const json::Value& event) {
  const std::string_view id = event["entityId"].string();
  const std::string_view value = event["encryptedValue"].string();
  if (event["subtype"].string() == "tool-call") {
    ToolCall* call = find_call(id);
    (call != nullptr ? call->encrypted_value : waiting_[std::string(id)].encrypted_value) = value;
    return;
  }
  const auto message = messages_.find(id);
  const bool has_text = message != messages_.end() && !reasoning_.contains(id);
  // A thought may have a value and no text.
  const Place place = has_text ? message->second : reasoning(id, event);
  place->message.encrypted_value = value;
}

// ---- tool calls

void Folder::on_tool_start(const json::Value& event) {
  start_call(event["toolCallId"].string(), event);
}

void Folder::on_tool_args(const json::Value& event) {
  ToolCall* call = find_call(event["toolCallId"].string());
  if (call == nullptr) return;
  append(call->arguments, event["delta"].string());
  merge_event_metadata(call->metadata, event);
}

void Folder::on_tool_end(const json::Value& event) {
  ToolCall* call = find_call(event["toolCallId"].string());
  if (call != nullptr) merge_event_metadata(call->metadata, event);
}

void Folder::on_tool_chunk(const json::Value& event) {
  const std::string id = chunk_id(event, "toolCallId");
  if (!id.empty()) append(start_call(id, event).arguments, event["delta"].string());
}

void Folder::on_tool_result(const json::Value& event) {
  const std::string_view call_id = event["toolCallId"].string();
  const json::Value content = event["content"];
  auto found = results_.find(call_id);
  if (found == results_.end()) {
    Message message;
    message.role = Role::tool;
    message.id = event["messageId"].string();
    message.tool_call_id = call_id;
    const Place place = add(std::move(message), place_of_result(call_id));
    if (const auto call = calls_.find(call_id); call != calls_.end()) {
      last_results_[&call->second.owner->message] = place;
    }
    found = results_.find(call_id);
  }
  Message& message = found->second->message;
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
