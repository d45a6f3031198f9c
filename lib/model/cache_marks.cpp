#include "model/cache_marks.hpp"

#include "format/anthropic_blocks.hpp"
#include "message/parts.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;

bool is_instruction(const json::Value& message) {
  const std::string_view role = message["role"].string();
  return role == "system" || role == "developer";
}

// What the caller wants cached up to the end of a system message, or nothing.
json::Value mark_of_system(const json::Value& content) {
  json::Value last;
  for (const json::Value part : content.items()) last = part;
  return last["cache_control"].is_object() ? last["cache_control"] : json::Value();
}

bool has_marked_part(const json::Value& content) {
  bool any = false;
  for (const json::Value part : content.items()) any = any || part["cache_control"].is_object();
  return any;
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

}  // namespace

void restore_cache_marks(Message& message, const json::Value& value) {
  const json::Value content = value["content"];
  if (is_instruction(value)) {
    if (const json::Value mark = mark_of_system(content)) {
      message.metadata.add(format::anthropic_provider, "cache_control", mark.to_json());
    }
    return;
  }
  const bool is_user = message.role == message::Role::user;
  if (!is_user || message.content.kind != Content::Kind::parts || !has_marked_part(content)) return;
  JsonBuilder out;
  out.open_array();
  const message::Parts parts(message.content);
  auto read = parts.items().begin();
  for (const json::Value part : content.items()) {
    const json::Value mark = part["cache_control"];
    if (mark.is_object()) {
      write_marked_part(out, *read, mark);
    } else {
      out.value(*read);
    }
    ++read;
  }
  out.close_array();
  message.content = Content::of_parts(out.take());
}

bool has_cache_marks(const json::Value& messages) {
  bool any = false;
  for (const json::Value message : messages.items()) {
    const json::Value content = message["content"];
    const bool is_user = message["role"].string() == "user";
    any = any || (is_user && has_marked_part(content)) ||
          (is_instruction(message) && mark_of_system(content));
  }
  return any;
}

}  // namespace millrace::model
