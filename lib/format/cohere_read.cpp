// Messages of Cohere -> canonical messages.

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include "format/cohere.hpp"
#include "format/cohere_names.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Messages;
using message::Role;
using message::ToolCall;

void keep_cohere_members(message::Metadata& metadata, std::string_view kind,
                         const json::Value& object, std::initializer_list<std::string_view> known) {
  if (has_more_than(object, known)) metadata.add(cohere::provider, kind, without(object, known));
}

// A user's content: images become parts.
Content cohere_content(const json::Value& content) {
  if (!content.is_array()) return Content::of_text(content.string());
  JsonBuilder out;
  out.open_array();
  for (const json::Value part : content.items()) {
    const json::Value image = part["image_url"];
    if (!image.is_object()) {
      if (part["text"].is_string() && !has_more_than(part, {"type", "text"})) {
        message::write_text_part(out, part["text"].string());
      } else {
        write_stand_in(out, cohere::provider, part);
      }
      continue;
    }
    Media media;
    media.value = image["url"].string();
    std::string held;
    message::take_data_url(media, held);
    std::string metadata;
    if (has_more_than(image, {"url"}) || has_more_than(part, {"type", "image_url"})) {
      constexpr std::array<std::string_view, 2> path{"image_url", "url"};
      metadata = "{" + block_member(cohere::provider, without_bytes(part, path)) + "}";
    }
    message::write_media(out, media, metadata);
  }
  out.close_array();
  return Content::of_parts(out.take());
}

class CohereReader {
 public:
  explicit CohereReader(IdSource& ids) : ids_(ids) {}

  void read(const json::Value& value) {
    const std::string_view role = value["role"].string();
    const json::Value content = value["content"];
    if (role == "user") {
      add(Role::user, value).content = cohere_content(content);
    } else if (role == "assistant") {
      read_assistant(value);
    } else if (role == "tool") {
      Message& message = add(Role::tool, value);
      message.tool_call_id = value["tool_call_id"].string();
      message.content = Content::of_text(cohere::tool_text(content));
      keep_content(message, content);
    } else if (value.is_object()) {
      Message& message = add(Role::system, value);
      message.content = Content::of_text(cohere::tool_text(content));
      keep_content(message, content);
    }
    if (value.is_object() && role != "assistant") {
      keep_cohere_members(messages_.back().metadata, cohere::members_kind, value,
                          {"id", "role", "content", "tool_call_id"});
    }
  }

  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  Message& add(Role role, const json::Value& value) {
    Message& message = messages_.emplace_back();
    message.role = role;
    message.id = id_of(value, ids_);
    return message;
  }

  // Keeps the list that the text of a message came as.
  static void keep_content(Message& message, const json::Value& content) {
    if (!content.is_array()) return;
    bool is_plain = true;
    for (const json::Value part : content.items()) {
      is_plain = is_plain && part["text"].is_string() && !has_more_than(part, {"type", "text"});
    }
    if (is_plain) {
      keep_list(message.metadata, cohere::provider, content);
    } else {
      message.metadata.add(cohere::provider, cohere::content_kind, raw(content));
    }
  }

  void read_assistant(const json::Value& value) {
    const json::Value content = value["content"];
    const bool has_calls = value["tool_calls"].size() > 0;
    if (const std::string thinking = cohere::thinking_of(content); !thinking.empty()) {
      Message& reasoning = add(Role::reasoning, {});
      reasoning.content = Content::of_text(thinking);
      // Before calls it would be a plan.
      if (has_calls) reasoning.metadata.add(cohere::provider, cohere::thinking_kind, "true");
    }
    if (const auto plan = value["tool_plan"].filled_string()) {
      Message& reasoning = add(Role::reasoning, {});
      reasoning.content = Content::of_text(*plan);
      if (!has_calls) reasoning.metadata.add(cohere::provider, cohere::plan_kind, "true");
    }
    Message& message = add(Role::assistant, value);
    if (!content.is_nothing()) message.content = Content::of_text(cohere::tool_text(content));
    keep_content(message, content);
    keep_cohere_members(message.metadata, cohere::members_kind, value,
                        {"id", "role", "content", "tool_plan", "tool_calls"});
    for (const json::Value call : value["tool_calls"].items()) {
      ToolCall& added = message.tool_calls.emplace_back();
      added.id = call["id"].string();
      added.name = call["function"]["name"].string();
      added.arguments = arguments_of(call["function"]["arguments"]);
      keep_cohere_members(added.metadata, cohere::call_kind, call, {"id", "type", "function"});
      keep_cohere_members(added.metadata, cohere::function_kind, call["function"],
                          {"name", "arguments"});
    }
  }

  IdSource& ids_;
  Messages messages_;
};

}  // namespace

std::string cohere::tool_text(const json::Value& content) {
  if (!content.is_array()) return std::string(content.string());
  std::string text;
  for (const json::Value part : content.items()) {
    const json::Value data = part["document"]["data"];
    text.append(data.is_nothing() ? std::string(part["text"].string()) : arguments_of(data));
  }
  return text;
}

std::string cohere::thinking_of(const json::Value& content) {
  std::string text;
  for (const json::Value part : content.items()) text.append(part["thinking"].string());
  return text;
}

Result<Messages> read_cohere(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  MILLRACE_TRY(check_shapes(data, shapes::cohere_message, "messages"));
  CohereReader reader(ids);
  for (const json::Value value : data.items()) reader.read(value);
  return reader.take();
}

}  // namespace millrace::format
