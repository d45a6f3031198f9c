// LangChain's messages -> canonical messages.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/further_members.hpp"
#include "format/langgraph.hpp"
#include "format/langgraph_names.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "message/langgraph_content.hpp"
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

const langgraph::TypeName* find_type(std::string_view type) {
  constexpr std::string_view chunk = "Chunk";
  if (type.ends_with(chunk)) type.remove_suffix(chunk.size());
  const auto* row = std::find_if(
      langgraph::type_names.begin(), langgraph::type_names.end(),
      [&](const langgraph::TypeName& t) { return t.type == type || t.class_name == type; });
  return row == langgraph::type_names.end() ? nullptr : row;
}

// The role of a message whose type says nothing of it, such as `generic`.
Role role_named_by(std::string_view name) {
  if (name == "user" || name == "human") return Role::user;
  return name == "assistant" || name == "ai" ? Role::assistant : Role::system;
}

// What `additional_kwargs` holds besides a copy of the tool calls and names that the parts have, or
// "".
std::string retained_kwargs(const json::Value& kwargs, bool without_names) {
  constexpr std::array<std::string_view, 2> copies{"tool_calls", "function_call"};
  JsonBuilder out;
  bool any = false;
  out.open_object();
  for (const auto& [key, value] : kwargs.members()) {
    if (value.is_null() || std::find(copies.begin(), copies.end(), key) != copies.end()) continue;
    if (without_names && key == langgraph::ag_ui_member) {
      if (value.size() == 1) continue;
      out.raw(key, without(value, {langgraph::names_member}));
    } else {
      out.value(key, value);
    }
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

std::string_view image_of(const json::Value& block) {
  const json::Value image = block[langgraph::image_block];
  return image.is_string() ? image.string() : image["url"].string();
}

// The names of images that stand beside the content.
json::Value names_of(const json::Value& value) {
  return value["additional_kwargs"][langgraph::ag_ui_member][langgraph::names_member];
}

std::string_view name_at(const json::Value& names, std::int64_t index) {
  for (const json::Value name : names.items()) {
    const bool is_image = name["type"].string() == langgraph::image_block;
    if (is_image && name["index"].integer() == index) return name["filename"].string();
  }
  return {};
}

// Whether each name is that of an image, and says nothing more.
bool has_all_names(const json::Value& names, const json::Value& content) {
  std::size_t named = 0;
  std::int64_t index = 0;
  for (const json::Value block : content.items()) {
    if (!name_at(names, index++).empty() && !image_of(block).empty()) ++named;
  }
  for (const json::Value name : names.items()) {
    if (has_more_than(name, {"index", "type", "filename"})) return false;
  }
  return named > 0 && named == names.size();
}

void read_image_url(JsonBuilder& out, const json::Value& block, std::string_view url,
                    std::string_view name) {
  message::DataUrl data;
  const bool by_value = message::read_data_url(data, url);
  out.open_object();
  out.text("type", "binary");
  out.text("mimeType", data.mime_type.empty() ? "image/*" : data.mime_type);
  out.text(by_value ? "data" : "url", by_value ? data.data : url);
  out.filled("filename", name);
  const auto detail = block["image_url"]["detail"].filled_string();
  const bool is_bare = block["image_url"].is_string();
  if (detail || is_bare) {
    out.open_object("metadata");
    if (detail) out.text("detail", *detail);
    if (is_bare) out.flag(langgraph::bare_member, true);
    out.close_object();
  }
  out.close_object();
}

void read_langgraph_block(JsonBuilder& out, const json::Value& block, std::string_view name) {
  const std::string_view url = image_of(block);
  const bool is_text = block["type"].string() == "text" && !has_more_than(block, {"type", "text"});
  Media media;
  if (block.is_string()) {
    message::write_text_part(out, block.string());
  } else if (!url.empty()) {
    read_image_url(out, block, url, name);
  } else if (is_text || block["source"].is_object()) {
    out.value(block);
  } else if (langgraph::read_medium(media, block)) {
    // The bytes go; an empty member shows where they were.
    JsonBuilder held(json::Surrogates::keep);
    if (block["base64"].is_string()) {
      write_with_bytes(held, block, langgraph::base64_path, {});
    } else {
      held.raw(without_bytes(block, langgraph::data_path));
    }
    message::write_media(out, media, "{" + block_member(langgraph::provider, held.take()) + "}");
  } else {
    write_stand_in(out, langgraph::provider, block);
  }
}

// What is more than texts keeps its media: image blocks become `binary` parts.
Content langgraph_content(const json::Value& content, const json::Value& names) {
  if (!is_more_than_text(content)) return Content::of_text(langgraph::text_of_blocks(content));
  JsonBuilder out;
  out.open_array();
  std::int64_t index = 0;
  for (const json::Value block : content.items()) {
    read_langgraph_block(out, block, name_at(names, index++));
  }
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
    if (invalid) {
      call.metadata.add(langgraph::provider, langgraph::invalid_kind,
                        without(value, {"id", "name", "args"}));
      continue;
    }
    if (const json::Value type = value["type"]; type.is_string()) {
      call.metadata.add(langgraph::provider, langgraph::call_type_kind, raw(type));
    }
    if (has_more_than(value, {"id", "name", "args", "type"})) {
      call.metadata.add(langgraph::provider, further_kind,
                        without(value, {"id", "name", "args", "type"}));
    }
  }
}

using CallIds = std::unordered_set<std::string_view>;

CallIds ids_of(const json::Value& calls) {
  CallIds ids;
  for (const json::Value call : calls.items()) ids.insert(call["id"].string());
  return ids;
}

void add_unlisted_call(Message& message, const CallIds& invalid, std::string_view id,
                       const json::Value& name, const json::Value& arguments) {
  if (id.empty() || invalid.contains(id)) return;
  ToolCall& call = message.tool_calls.emplace_back();
  call.id = id;
  call.name = name.string();
  call.arguments = arguments_of(arguments);
}

// Of a message whose calls stand in no list of calls: those of its content, else those that its
// model's API gave, as the integration kept them.
// Source: langchain-ai/langgraphjs, `libs/sdk/src/utils/normalize-tool-calls.ts` (2026).
void read_unlisted_calls(Message& message, const json::Value& content, const json::Value& value) {
  struct Shape {
    std::string_view type, id, arguments;
  };
  constexpr std::array shapes{Shape{"tool_use", "id", "input"}, Shape{"tool_call", "id", "args"},
                              Shape{"function_call", "call_id", "arguments"}};
  const CallIds invalid = ids_of(value["invalid_tool_calls"]);
  const auto read_blocks = [&](const json::Value& blocks, std::span<const Shape> known) {
    for (const json::Value block : blocks.items()) {
      const auto shape = std::find_if(known.begin(), known.end(), [&](const Shape& one) {
        return one.type == block["type"].string();
      });
      if (shape == known.end()) continue;
      add_unlisted_call(message, invalid, block[shape->id].string(), block["name"],
                        block[shape->arguments]);
    }
  };
  read_blocks(content, shapes);
  if (!message.tool_calls.empty()) return;
  for (const json::Value call : value["additional_kwargs"]["tool_calls"].items()) {
    const json::Value function = call["function"];
    add_unlisted_call(message, invalid, call["id"].string(), function["name"],
                      function["arguments"]);
  }
  if (!message.tool_calls.empty()) return;
  read_blocks(value["response_metadata"]["output"], std::span(shapes).last(1));
}

void read_body(Message& message, const json::Value& value, IdSource& ids) {
  const json::Value content = message::langgraph_content_of(value);
  const bool has_parts = message.role == Role::user || message.role == Role::tool;
  const json::Value names = message.role == Role::user ? names_of(value) : json::Value();
  message.content = has_parts ? langgraph_content(content, names)
                              : Content::of_text(langgraph::text_of_blocks(content));
  if (content.is_array() && content.size() == 0) {
    message.metadata.add(langgraph::provider, list_kind, "[]");
  } else if (content.is_array() && !is_more_than_text(content)) {
    keep_list(message.metadata, langgraph::provider, content);
  } else if (!has_parts && content.is_array()) {
    message.metadata.add(langgraph::provider, langgraph::list_state, raw(content));
  }
  if (message.role == Role::assistant) {
    read_calls(message, value["tool_calls"], false, ids);
    if (message.tool_calls.empty()) read_unlisted_calls(message, content, value);
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
  if (message::is_langgraph_text(value)) known.emplace_back("text");
  if (message::is_empty_langgraph_content(value["content"])) known.emplace_back("content_blocks");
  JsonBuilder out;
  out.open_object();
  for (const auto& [key, member] : value.members()) {
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (!is_known && !member.is_null()) out.value(key, member);
  }
  out.close_object();
  if (std::string text = out.take(); text != "{}") {
    message.metadata.add(langgraph::provider, langgraph::members_kind, std::move(text));
  }
}

// A message as LangChain stores it is within another object: that of its constructor, whose id ends
// with the name of the class, or that of `toDict()`, which has the type beside it.
// Source: @langchain/core 1.1, `BaseMessage.toJSON` and `BaseMessage.toDict`.
json::Value unwrapped(const json::Value& value, std::string_view& type) {
  type = value["type"].string();
  if (type == "constructor" && value["kwargs"].is_object()) {
    for (const json::Value part : value["id"].items()) type = part.string();
    return value["kwargs"];
  }
  return message::is_langgraph_dict(value) ? value["data"] : value;
}

void read_one(Messages& out, json::Value value, IdSource& ids) {
  if (!value.is_object()) return;
  std::string_view type;
  value = unwrapped(value, type);
  Message& message = out.emplace_back();
  if (type == "remove" || type == "RemoveMessage") {
    message.role = Role::activity;
    message.id = id_of(value, ids);
    message.activity_type = langgraph::remove_activity;
    message.content = {Content::Kind::object, raw(value)};
    return;
  }
  const langgraph::TypeName* row = find_type(type);
  message.role = row == nullptr ? role_named_by(value["role"].string()) : row->role;
  message.id = id_of(value, ids);
  read_body(message, value, ids);
  const auto name = value["name"].filled_string();
  const bool is_function = row != nullptr && row->type == "function";
  if (is_function && name) message.tool_call_id = *name;
  if (name && message.role != Role::tool) message.name = *name;
  const bool without_names = message.role == Role::user &&
                             has_all_names(names_of(value), message::langgraph_content_of(value));
  std::string kwargs = retained_kwargs(value["additional_kwargs"], without_names);
  if (!kwargs.empty()) {
    message.metadata.add(langgraph::provider, langgraph::kwargs_kind, std::move(kwargs));
  }
  keep_langgraph_members(message, value, row == nullptr || is_function);
}

}  // namespace

std::string langgraph::text_of_blocks(const json::Value& content) {
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

bool langgraph::read_medium(Media& out, const json::Value& block) {
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
  if (const auto data = block[langgraph::bytes_path(block).front()].filled_string()) {
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

Result<Messages> read_langgraph(const json::Value& data, IdSource& ids) {
  json::Value list = data;
  if (data.is_object()) {
    const json::Value state = data["values"];
    list = state.is_array() ? state : (state.is_object() ? state : data)["messages"];
  }
  if (!list.is_array()) {
    return not_a_list("an array of messages, or a thread's state with `values.messages`", data);
  }
  MILLRACE_TRY(check_shapes(list, shapes::langgraph_message, "messages"));
  constexpr std::array<std::string_view, 2> names{"type", "role"};
  MILLRACE_TRY(check_has_one_of(list, names, "messages"));
  Messages messages;
  messages.reserve(list.size());
  for (const json::Value item : list.items()) read_one(messages, item, ids);
  return messages;
}

}  // namespace millrace::format
