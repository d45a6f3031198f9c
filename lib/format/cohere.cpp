#include "format/cohere.hpp"

#include <utility>

#include "format/support.hpp"
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

void write_user(JsonBuilder& out, const Content& content) {
  if (content.kind == Content::Kind::text) {
    out.text("content", content.text);
    return;
  }
  out.open_array("content");
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) {
    Media media;
    if (part["type"].string() == "text") {
      message::write_text_part(out, part["text"].string());
    } else if (message::read_media(media, part) && media.kind == Media::Kind::image) {
      out.open_object();
      out.text("type", "image_url");
      out.open_object("image_url");
      message::write_url(out, "url", media);
      out.close_object();
      out.close_object();
    }
  }
  out.close_array();
}

void write_assistant(JsonBuilder& out, const Message& message, std::string_view reasoning_part) {
  const std::string text = message::text_of(message.content);
  if (!reasoning_part.empty() && message.tool_calls.empty()) {
    out.open_array("content");
    out.open_object();
    out.text("type", "thinking");
    out.text("thinking", reasoning_part);
    out.close_object();
    if (!text.empty()) message::write_text_part(out, text);
    out.close_array();
  } else if (!text.empty() || message.tool_calls.empty()) {
    out.text("content", text);
  }
  if (message.tool_calls.empty()) return;
  out.filled("tool_plan", reasoning_part);
  out.open_array("tool_calls");
  for (const ToolCall& call : message.tool_calls) {
    out.open_object();
    out.text("id", call.id);
    out.text("type", "function");
    out.open_object("function");
    out.text("name", call.name);
    out.text("arguments", call.arguments);
    out.close_object();
    out.close_object();
  }
  out.close_array();
}

void write_message(JsonBuilder& out, const Message& message, std::string_view reasoning_part) {
  const bool prompt = message.role == Role::developer;
  out.open_object();
  out.text("role", prompt ? "system" : message::name_of(message.role));
  if (message.role == Role::user) {
    write_user(out, message.content);
  } else if (message.role == Role::assistant) {
    write_assistant(out, message, reasoning_part);
  } else if (message.role == Role::tool) {
    out.text("tool_call_id", message.tool_call_id);
    out.text("content", result_text(message));
  } else {
    out.text("content", message::text_of(message.content));
  }
  out.close_object();
}

// A user's content: images become parts.
Content cohere_content(const json::Value& content) {
  if (!content.is_array()) return Content::of_text(content.string());
  JsonBuilder out;
  out.open_array();
  for (const json::Value part : content.items()) {
    const json::Value image = part["image_url"];
    if (!image.is_object()) {
      message::write_text_part(out, part["text"].string());
      continue;
    }
    Media media;
    media.value = image["url"].string();
    message::DataUrl data;
    if (message::read_data_url(data, media.value)) {
      media.source = Media::Source::data;
      media.value = data.data;
      media.mime_type = data.mime_type;
    }
    message::write_media(out, media);
  }
  out.close_array();
  return Content::of_parts(out.take());
}

// A tool's content may be a list of documents.
std::string tool_text(const json::Value& content) {
  if (!content.is_array()) return std::string(content.string());
  std::string text;
  for (const json::Value part : content.items()) {
    const json::Value data = part["document"]["data"];
    text.append(data.is_nothing() ? std::string(part["text"].string()) : arguments_of(data));
  }
  return text;
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
      message.content = Content::of_text(tool_text(content));
    } else if (value.is_object()) {
      add(Role::system, value).content = Content::of_text(joined_text(content));
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

  void read_assistant(const json::Value& value) {
    const json::Value content = value["content"];
    std::string reasoning_part(value["tool_plan"].string());
    for (const json::Value part : content.items()) reasoning_part.append(part["thinking"].string());
    if (!reasoning_part.empty())
      add(Role::reasoning, {}).content = Content::of_text(reasoning_part);
    Message& message = add(Role::assistant, value);
    if (!content.is_nothing()) message.content = Content::of_text(joined_text(content));
    for (const json::Value call : value["tool_calls"].items()) {
      ToolCall& added = message.tool_calls.emplace_back();
      added.id = call["id"].string();
      added.name = call["function"]["name"].string();
      added.arguments = arguments_of(call["function"]["arguments"]);
    }
  }

  IdSource& ids_;
  Messages messages_;
};

}  // namespace

void write_cohere(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  std::string reasoning_part;
  for (const Message& message : messages) {
    if (message.role == Role::activity) continue;
    if (message.role == Role::reasoning) {
      reasoning_part.append(message::text_of(message.content));
      continue;
    }
    write_message(out, message, reasoning_part);
    reasoning_part.clear();
  }
  out.close_array();
}

Result<Messages> read_cohere(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  CohereReader reader(ids);
  for (const json::Value value : data.items()) reader.read(value);
  return reader.take();
}

}  // namespace millrace::format
