#include "format/langgraph.hpp"

#include <algorithm>
#include <array>
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

constexpr std::string_view langgraph_provider = "langgraph";
constexpr std::string_view content_kind = "content";
constexpr std::string_view kwargs_kind = "additional_kwargs";

// Names of message types: the short one, which is written, and the class, which may end in "Chunk".
struct TypeName {
  std::string_view type;
  std::string_view class_name;
  Role role;
};
constexpr std::array<TypeName, 4> type_names{{
    {"human", "HumanMessage", Role::user},
    {"ai", "AIMessage", Role::assistant},
    {"tool", "ToolMessage", Role::tool},
    {"system", "SystemMessage", Role::system},
}};

Role role_of(std::string_view type) {
  constexpr std::string_view chunk = "Chunk";
  if (type.ends_with(chunk)) type.remove_suffix(chunk.size());
  const auto* row = std::find_if(type_names.begin(), type_names.end(), [&](const TypeName& t) {
    return t.type == type || t.class_name == type;
  });
  return row == type_names.end() ? Role::system : row->role;
}

std::string_view type_of(Role role) {
  const auto* row = std::find_if(type_names.begin(), type_names.end(),
                                 [&](const TypeName& t) { return t.role == role; });
  return row == type_names.end() ? "system" : row->type;
}

std::string text_of_blocks(const json::Value& content) {
  if (content.is_string()) return std::string(content.string());
  std::string text;
  for (const json::Value block : content.items()) {
    if (block.is_string()) {
      text.append(block.string());
    } else if (block["type"].string() == "text") {
      text.append(block["text"].string());
    }
  }
  return text;
}

// `binary` and images by value or address become the block that every chat model of LangChain
// knows; other parts go as they are.
void write_langgraph_part(JsonBuilder& out, const json::Value& part) {
  Media media;
  const bool known = message::read_media(media, part) && media.source != Media::Source::file;
  if (!known || (part["type"].string() != "binary" && media.kind != Media::Kind::image)) {
    out.value(part);
    return;
  }
  out.open_object();
  out.text("type", "image_url");
  out.open_object("image_url");
  message::write_url(out, "url", media);
  out.filled("detail", media.metadata["detail"].string());
  out.close_object();
  out.close_object();
}

// The blocks that the content was read from, when its text is still theirs.
bool write_retained_blocks(JsonBuilder& out, const Message& message, std::string_view text) {
  const auto* state = message.metadata.find(langgraph_provider, content_kind);
  if (state == nullptr) return false;
  json::Document document(message::depth_limit);
  const auto blocks = document.parse(state->json);
  if (!blocks || text_of_blocks(blocks.value()) != text) return false;
  out.value("content", blocks.value());
  return true;
}

void write_content(JsonBuilder& out, const Message& message) {
  if (message.content.kind == Content::Kind::parts && message.role == Role::user) {
    out.open_array("content");
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) write_langgraph_part(out, part);
    out.close_array();
    return;
  }
  const std::string text =
      message.role == Role::tool ? result_text(message) : message::text_of(message.content);
  if (!write_retained_blocks(out, message, text)) out.text("content", text);
}

void write_langgraph_call(JsonBuilder& out, const ToolCall& call) {
  out.open_object();
  out.text("id", call.id);
  out.text("name", call.name);
  json::Document document(message::depth_limit);
  if (const auto arguments = document.parse(call.arguments)) {
    out.value("args", arguments.value());
  } else {
    out.text("args", call.arguments);
  }
  out.close_object();
}

void write_one(JsonBuilder& out, const Message& message) {
  out.open_object();
  out.text("type", type_of(message.role));
  write_content(out, message);
  if (!message.tool_calls.empty()) {
    out.open_array("tool_calls");
    for (const ToolCall& call : message.tool_calls) write_langgraph_call(out, call);
    out.close_array();
  }
  if (message.role == Role::tool) out.text("tool_call_id", message.tool_call_id);
  out.filled("id", message.id);
  if (message.name) out.filled("name", *message.name);
  if (message.role == Role::tool && message.error) out.text("status", "error");
  if (const auto* kwargs = message.metadata.find(langgraph_provider, kwargs_kind)) {
    out.raw("additional_kwargs", kwargs->json);
  }
  out.close_object();
}

// What `additional_kwargs` holds besides a copy of the tool calls, or "".
std::string retained_kwargs(const json::Value& kwargs) {
  constexpr std::array<std::string_view, 2> copies{"tool_calls", "function_call"};
  JsonBuilder out;
  bool any = false;
  out.open_object();
  for (const auto& [key, value] : kwargs.members()) {
    if (value.is_null() || std::find(copies.begin(), copies.end(), key) != copies.end()) continue;
    out.value(key, value);
    any = true;
  }
  out.close_object();
  return any ? out.take() : std::string();
}

bool is_more_than_text(const json::Value& blocks) {
  for (const json::Value block : blocks.items()) {
    if (!block.is_string() && block["type"].string() != "text") return true;
  }
  return false;
}

// User content keeps its media: image blocks become `binary` parts, the rest stays as it is.
Content human_content(const json::Value& content) {
  if (!is_more_than_text(content)) return Content::of_text(text_of_blocks(content));
  JsonBuilder out;
  out.open_array();
  for (const json::Value block : content.items()) {
    const json::Value image = block["image_url"];
    const std::string_view url = image.is_string() ? image.string() : image["url"].string();
    message::DataUrl data;
    if (block.is_string()) {
      message::write_text_part(out, block.string());
    } else if (url.empty()) {
      out.value(block);
    } else {
      out.open_object();
      out.text("type", "binary");
      const bool by_value = message::read_data_url(data, url);
      out.text("mimeType", by_value ? data.mime_type : "image/*");
      out.text(by_value ? "data" : "url", by_value ? data.data : url);
      if (const auto detail = image["detail"].filled_string()) {
        out.open_object("metadata");
        out.text("detail", *detail);
        out.close_object();
      }
      out.close_object();
    }
  }
  out.close_array();
  return Content::of_parts(out.take());
}

void read_calls(Message& message, const json::Value& calls, IdSource& ids) {
  for (const json::Value value : calls.items()) {
    if (!value.is_object()) continue;
    ToolCall& call = message.tool_calls.emplace_back();
    call.id = value["id"].is_string() ? std::string(value["id"].string()) : ids.next_id();
    call.name = value["name"].string();
    call.arguments = arguments_of(value["args"]);
  }
}

void read_body(Message& message, const json::Value& value, IdSource& ids) {
  const json::Value content = value["content"];
  if (message.role == Role::user) {
    message.content = human_content(content);
    return;
  }
  message.content = Content::of_text(text_of_blocks(content));
  if (is_more_than_text(content))
    message.metadata.add(langgraph_provider, content_kind, raw(content));
  if (message.role == Role::assistant) {
    read_calls(message, value["tool_calls"], ids);
    read_calls(message, value["invalid_tool_calls"], ids);
  } else if (message.role == Role::tool) {
    message.tool_call_id = value["tool_call_id"].string();
    if (value["status"].string() == "error") message.error = message.content.text;
  }
}

void read_one(Messages& out, json::Value value, IdSource& ids) {
  if (!value.is_object()) return;
  std::string_view type = value["type"].string();
  if (type == "constructor" && value["kwargs"].is_object()) {
    for (const json::Value part : value["id"].items()) type = part.string();
    value = value["kwargs"];
  }
  Message& message = out.emplace_back();
  message.role = role_of(type);
  message.id = id_of(value, ids);
  read_body(message, value, ids);
  if (const auto name = value["name"].filled_string(); name && message.role != Role::tool) {
    message.name = *name;
  }
  if (std::string kwargs = retained_kwargs(value["additional_kwargs"]); !kwargs.empty()) {
    message.metadata.add(langgraph_provider, kwargs_kind, std::move(kwargs));
  }
}

}  // namespace

void write_langgraph(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  for (const Message& message : messages) {
    if (message.role != Role::reasoning && message.role != Role::activity) {
      write_one(out, message);
    }
  }
  out.close_array();
}

Result<Messages> read_langgraph(const json::Value& data, IdSource& ids) {
  json::Value list = data;
  if (data.is_object()) {
    const json::Value state = data["values"];
    list = state.is_array() ? state : (state.is_object() ? state : data)["messages"];
  }
  if (!list.is_array()) {
    return not_a_list("an array of messages, or a thread's state with `values.messages`", data);
  }
  Messages messages;
  messages.reserve(list.size());
  for (const json::Value item : list.items()) read_one(messages, item, ids);
  return messages;
}

}  // namespace millrace::format
