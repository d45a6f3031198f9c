#include "format/langgraph.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "format/retained.hpp"
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
constexpr std::string_view list_state = "content";
constexpr std::string_view kwargs_kind = "additional_kwargs";
constexpr std::string_view members_kind = "message";       // further members of a message
constexpr std::string_view invalid_kind = "invalid_call";  // members of a call that was not valid
// A message that takes others out of the state: it says nothing to a model.
constexpr std::string_view remove_activity = "langgraph.remove";

// Names of message types: the short one, which is written, and the class, which may end in "Chunk".
struct TypeName {
  std::string_view type;
  std::string_view class_name;
  Role role;
};
constexpr std::array<TypeName, 5> type_names{{
    {"human", "HumanMessage", Role::user},
    {"ai", "AIMessage", Role::assistant},
    {"tool", "ToolMessage", Role::tool},
    {"system", "SystemMessage", Role::system},
    {"function", "FunctionMessage", Role::tool},
}};

const TypeName* find_type(std::string_view type) {
  constexpr std::string_view chunk = "Chunk";
  if (type.ends_with(chunk)) type.remove_suffix(chunk.size());
  const auto* row = std::find_if(type_names.begin(), type_names.end(), [&](const TypeName& t) {
    return t.type == type || t.class_name == type;
  });
  return row == type_names.end() ? nullptr : row;
}

// The role of a message whose type says nothing of it, such as `generic`.
Role role_named_by(std::string_view name) {
  if (name == "user" || name == "human") return Role::user;
  return name == "assistant" || name == "ai" ? Role::assistant : Role::system;
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

// The members that hold a medium's bytes, its address or its id, in both versions of LangChain's
// blocks, and its type.
constexpr std::array<std::string_view, 1> data_path{"data"};

// Reads a block image, audio, video or file; false when it is none, or holds neither bytes nor an
// address.
bool read_langgraph_medium(Media& out, const json::Value& block) {
  const std::string_view type = block["type"].string();
  const bool is_file = type == "file";
  constexpr std::array kinds{Media::Kind::image, Media::Kind::audio, Media::Kind::video};
  const auto* kind = std::find_if(kinds.begin(), kinds.end(),
                                  [&](Media::Kind k) { return message::name_of(k) == type; });
  if (!is_file && kind == kinds.end()) return false;
  for (const std::string_view key : {"mimeType", "mime_type"}) {
    if (const auto given = block[key].filled_string()) out.mime_type = *given;
  }
  out.kind = is_file ? message::kind_of_mime(out.mime_type) : *kind;
  if (const auto data = block["data"].filled_string()) {
    out.source = Media::Source::data;
    out.value = *data;
    return true;
  }
  if (const auto url = block["url"].filled_string()) {
    out.source = Media::Source::url;
    out.value = *url;
    return true;
  }
  out.source = Media::Source::file;
  for (const std::string_view key : {"fileId", "file_id"}) {
    if (const auto id = block[key].filled_string()) out.value = *id;
  }
  if (block["source_type"].string() == "id") out.value = block["id"].string();
  return !out.value.empty();
}

// The block that a medium came from, with the medium's bytes; false when it is of another.
bool write_langgraph_medium(JsonBuilder& out, const json::Value& part) {
  const json::Value block = held_block(part, langgraph_provider);
  Media media;
  Media given;
  if (!block.is_object() || !message::read_media(media, part)) return false;
  const bool is_data = media.source == Media::Source::data;
  const bool has_address = read_langgraph_medium(given, block);
  if (is_data ? has_address : !has_address || given.value != media.value) return false;
  if (is_data) {
    write_with_bytes(out, block, data_path, media.value);
  } else {
    out.value(block);
  }
  return true;
}

// `binary` and images by value or address become the block that every chat model of LangChain
// knows; other parts go as they are.
void write_langgraph_part(JsonBuilder& out, const json::Value& part) {
  if (const json::Value block = stand_in_block(part, langgraph_provider)) return out.value(block);
  if (write_langgraph_medium(out, part)) return;
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
  const auto* state = message.metadata.find(langgraph_provider, list_state);
  if (state == nullptr) return false;
  json::Document document(message::depth_limit);
  const auto blocks = document.parse(state->json);
  if (!blocks || text_of_blocks(blocks.value()) != text) return false;
  out.value("content", blocks.value());
  return true;
}

void write_content(JsonBuilder& out, const Message& message) {
  const bool has_parts = message.role == Role::user || message.role == Role::tool;
  if (message.content.kind == Content::Kind::parts && has_parts) {
    out.open_array("content");
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) write_langgraph_part(out, part);
    out.close_array();
    return;
  }
  const std::string text =
      message.role == Role::tool ? result_text(message) : message::text_of(message.content);
  if (write_retained_blocks(out, message, text)) return;
  if (write_list(out, "content", message.metadata, langgraph_provider, text)) return;
  out.text("content", text);
}

// Members that a canonical message or call has no place for, as they came.
void write_langgraph_members(JsonBuilder& out, const message::Metadata& metadata,
                             std::string_view kind) {
  const auto* state = metadata.find(langgraph_provider, kind);
  if (state == nullptr) return;
  json::Document document(message::depth_limit);
  const auto members = document.parse(state->json);
  if (!members) return;
  for (const auto& [key, value] : members.value().members()) out.value(key, value);
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

bool is_invalid_call(const ToolCall& call) {
  return call.metadata.find(langgraph_provider, invalid_kind) != nullptr;
}

void write_langgraph_calls(JsonBuilder& out, const Message& message) {
  const auto& calls = message.tool_calls;
  if (std::any_of(calls.begin(), calls.end(),
                  [](const auto& call) { return !is_invalid_call(call); })) {
    out.open_array("tool_calls");
    for (const ToolCall& call : calls) {
      if (!is_invalid_call(call)) write_langgraph_call(out, call);
    }
    out.close_array();
  }
  if (std::none_of(calls.begin(), calls.end(), is_invalid_call)) return;
  out.open_array("invalid_tool_calls");
  for (const ToolCall& call : calls) {
    if (!is_invalid_call(call)) continue;
    out.open_object();
    out.text("id", call.id);
    out.text("name", call.name);
    out.text("args", call.arguments);
    write_langgraph_members(out, call.metadata, invalid_kind);
    out.close_object();
  }
  out.close_array();
}

void write_one(JsonBuilder& out, const Message& message) {
  const auto* state = message.metadata.find(langgraph_provider, members_kind);
  json::Document document(message::depth_limit);
  const auto members = document.parse(state == nullptr ? "" : state->json);
  const json::Value given_type = members ? members.value()["type"] : json::Value();
  out.open_object();
  if (!given_type.is_string()) out.text("type", type_of(message.role));
  write_content(out, message);
  write_langgraph_calls(out, message);
  if (message.role == Role::tool && given_type.string() != "function") {
    out.text("tool_call_id", message.tool_call_id);
  }
  out.filled("id", message.id);
  if (message.name) out.filled("name", *message.name);
  if (message.role == Role::tool && message.error) out.text("status", "error");
  if (const auto* kwargs = message.metadata.find(langgraph_provider, kwargs_kind)) {
    out.raw("additional_kwargs", kwargs->json);
  }
  write_langgraph_members(out, message.metadata, members_kind);
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
    const bool is_text =
        block["type"].string() == "text" && !has_more_than(block, {"type", "text"});
    if (!block.is_string() && !is_text) return true;
  }
  return false;
}

void read_image_url(JsonBuilder& out, const json::Value& block, std::string_view url) {
  message::DataUrl data;
  const bool by_value = message::read_data_url(data, url);
  out.open_object();
  out.text("type", "binary");
  out.text("mimeType", by_value ? data.mime_type : "image/*");
  out.text(by_value ? "data" : "url", by_value ? data.data : url);
  if (const auto detail = block["image_url"]["detail"].filled_string()) {
    out.open_object("metadata");
    out.text("detail", *detail);
    out.close_object();
  }
  out.close_object();
}

void read_langgraph_block(JsonBuilder& out, const json::Value& block) {
  const json::Value image = block["image_url"];
  const std::string_view url = image.is_string() ? image.string() : image["url"].string();
  const bool is_text = block["type"].string() == "text" && !has_more_than(block, {"type", "text"});
  Media media;
  if (block.is_string()) {
    message::write_text_part(out, block.string());
  } else if (!url.empty()) {
    read_image_url(out, block, url);
  } else if (is_text || block["source"].is_object()) {
    out.value(block);
  } else if (read_langgraph_medium(media, block)) {
    std::string metadata = "{";
    metadata.append(block_member(langgraph_provider, without_bytes(block, data_path)));
    message::write_media(out, media, metadata + "}");
  } else {
    write_stand_in(out, langgraph_provider, block);
  }
}

// What is more than texts keeps its media: image blocks become `binary` parts.
Content langgraph_content(const json::Value& content) {
  if (!is_more_than_text(content)) return Content::of_text(text_of_blocks(content));
  JsonBuilder out;
  out.open_array();
  for (const json::Value block : content.items()) read_langgraph_block(out, block);
  out.close_array();
  return Content::of_parts(out.take());
}

void read_calls(Message& message, const json::Value& calls, bool invalid, IdSource& ids) {
  for (const json::Value value : calls.items()) {
    if (!value.is_object()) continue;
    ToolCall& call = message.tool_calls.emplace_back();
    call.id = value["id"].is_string() ? std::string(value["id"].string()) : ids.next_id();
    call.name = value["name"].string();
    call.arguments = arguments_of(value["args"]);
    if (!invalid) continue;
    call.metadata.add(langgraph_provider, invalid_kind, without(value, {"id", "name", "args"}));
  }
}

void read_body(Message& message, const json::Value& value, IdSource& ids) {
  const json::Value content = value["content"];
  const bool has_parts = message.role == Role::user || message.role == Role::tool;
  message.content =
      has_parts ? langgraph_content(content) : Content::of_text(text_of_blocks(content));
  if (content.is_array() && !is_more_than_text(content)) {
    keep_list(message.metadata, langgraph_provider, content);
  } else if (!has_parts && content.is_array()) {
    message.metadata.add(langgraph_provider, list_state, raw(content));
  }
  if (message.role == Role::assistant) {
    read_calls(message, value["tool_calls"], false, ids);
    read_calls(message, value["invalid_tool_calls"], true, ids);
  } else if (message.role == Role::tool) {
    message.tool_call_id = value["tool_call_id"].string();
    if (value["status"].string() == "error") message.error = message::text_of(message.content);
  }
}

// Keeps the members that a canonical message has no place for, and a type that its role does not
// give.
void keep_langgraph_members(Message& message, const json::Value& value, bool has_own_type) {
  std::vector<std::string_view> known{
      "content", "id", "tool_calls", "invalid_tool_calls", "tool_call_id", "additional_kwargs"};
  if (!has_own_type) known.emplace_back("type");
  if (message.role != Role::tool) known.emplace_back("name");
  if (message.error) known.emplace_back("status");
  JsonBuilder out;
  out.open_object();
  for (const auto& [key, member] : value.members()) {
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (!is_known && !member.is_null()) out.value(key, member);
  }
  out.close_object();
  if (std::string text = out.take(); text != "{}") {
    message.metadata.add(langgraph_provider, members_kind, std::move(text));
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
  if (type == "remove" || type == "RemoveMessage") {
    message.role = Role::activity;
    message.id = id_of(value, ids);
    message.activity_type = remove_activity;
    message.content = {Content::Kind::object, raw(value)};
    return;
  }
  const TypeName* row = find_type(type);
  message.role = row == nullptr ? role_named_by(value["role"].string()) : row->role;
  message.id = id_of(value, ids);
  read_body(message, value, ids);
  const auto name = value["name"].filled_string();
  const bool is_function = row != nullptr && row->type == "function";
  if (is_function && name) message.tool_call_id = *name;
  if (name && message.role != Role::tool) message.name = *name;
  if (std::string kwargs = retained_kwargs(value["additional_kwargs"]); !kwargs.empty()) {
    message.metadata.add(langgraph_provider, kwargs_kind, std::move(kwargs));
  }
  keep_langgraph_members(message, value, row == nullptr || is_function);
}

}  // namespace

void write_langgraph(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  for (const Message& message : messages) {
    if (message.role == Role::activity && message.activity_type == remove_activity) {
      out.raw(message.content.text);
    } else if (message.role != Role::reasoning && message.role != Role::activity) {
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
