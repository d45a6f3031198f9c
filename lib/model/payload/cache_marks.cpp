#include "model/payload/cache_marks.hpp"

#include <algorithm>

#include "format/anthropic_blocks.hpp"
#include "message/parts.hpp"

namespace millrace::model {
namespace {

using format::anthropic_provider;
using format::cache_blocks_kind;
using format::cache_control_kind;
using message::Content;
using message::JsonBuilder;
using message::Message;
using message::Role;

bool has_mark(const json::Value& value) {
  return value["cache_control"].is_object();
}

bool has_marked_item(const json::Value& list) {
  bool any = false;
  for (const json::Value item : list.items()) any = any || has_mark(item);
  return any;
}

void keep_mark(message::Metadata& metadata, const json::Value& mark) {
  metadata.add(anthropic_provider, cache_control_kind, mark.to_json());
}

// The mark of the last part that has one; a message may carry its own instead.
json::Value last_mark(const json::Value& value) {
  json::Value mark = value["cache_control"];
  for (const json::Value part : value["content"].items()) {
    if (has_mark(part)) mark = part["cache_control"];
  }
  return mark.is_object() ? mark : json::Value();
}

// Texts up to a mark are one block.
std::string blocks_of(const json::Value& content) {
  JsonBuilder out;
  out.open_array();
  std::string text;
  for (const json::Value part : content.items()) {
    text.append(part["text"].string());
    if (!has_mark(part) || text.empty()) continue;
    format::write_text_block(out, text, part["cache_control"]);
    text.clear();
  }
  if (!text.empty()) format::write_text_block(out, text);
  out.close_array();
  return out.take();
}

// Marks of what is one text to everybody else.
void restore_marks_of_text(Message& message, const json::Value& value) {
  if (has_marked_item(value["content"])) {
    message.metadata.add(anthropic_provider, cache_blocks_kind, blocks_of(value["content"]));
  } else if (has_mark(value)) {
    keep_mark(message.metadata, value["cache_control"]);
  }
}

// What an answer without words shall have cached ends with its last call.
void restore_marks_of_answer(Message& message, const json::Value& value) {
  std::size_t at = 0;
  for (const json::Value call : value["tool_calls"].items()) {
    if (at >= message.tool_calls.size()) break;
    message::ToolCall& known = message.tool_calls[at];
    if (call["id"].string() != known.id) continue;
    ++at;
    if (has_mark(call)) keep_mark(known.metadata, call["cache_control"]);
  }
  const bool has_no_content = message::text_of(message.content).empty();
  if (!has_no_content) return restore_marks_of_text(message, value);
  const json::Value mark = last_mark(value);
  if (mark && !message.tool_calls.empty()) keep_mark(message.tool_calls.back().metadata, mark);
}

void write_marked_part(JsonBuilder& out, const json::Value& part, const json::Value& mark) {
  out.open_object();
  for (const auto& [key, value] : part.members()) {
    if (key != "metadata") out.value(key, value);
  }
  out.open_object("metadata");
  for (const auto& [key, value] : part["metadata"].members()) out.value(key, value);
  out.value("cache_control", mark);
  out.close_object();
  out.close_object();
}

void restore_marks_of_parts(Message& message, const json::Value& content) {
  if (message.content.kind != Content::Kind::parts || !has_marked_item(content)) return;
  JsonBuilder out;
  out.open_array();
  const message::Parts parts(message.content);
  auto read = parts.items().begin();
  for (const json::Value part : content.items()) {
    if (has_mark(part)) {
      write_marked_part(out, *read, part["cache_control"]);
    } else {
      out.value(*read);
    }
    ++read;
  }
  out.close_array();
  message.content = Content::of_parts(out.take());
}

}  // namespace

void restore_cache_marks(Message& message, const json::Value& value) {
  switch (message.role) {
    case Role::system:
    case Role::developer: return restore_marks_of_text(message, value);
    case Role::user: return restore_marks_of_parts(message, value["content"]);
    case Role::assistant: return restore_marks_of_answer(message, value);
    case Role::tool:
      if (const json::Value mark = last_mark(value)) keep_mark(message.metadata, mark);
      return;
    case Role::reasoning:
    case Role::activity: return;
  }
}

bool has_cache_marks(const json::Value& messages) {
  bool any = false;
  for (const json::Value message : messages.items()) {
    const bool is_user = message["role"].string() == "user";
    any = any || has_marked_item(message["content"]) || has_marked_item(message["tool_calls"]) ||
          (!is_user && has_mark(message));
  }
  return any;
}

}  // namespace millrace::model
