// Canonical messages -> LangChain's messages.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "format/langgraph.hpp"
#include "format/langgraph_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Role;
using message::ToolCall;

std::string_view type_of(Role role) {
  const auto* row = std::find_if(langgraph::type_names.begin(), langgraph::type_names.end(),
                                 [&](const langgraph::TypeName& t) { return t.role == role; });
  return row == langgraph::type_names.end() ? "system" : row->type;
}

// The bytes of a text block of an answer; a refusal is text as well.
std::size_t text_size_of(const json::Value& block) {
  if (block["type"].string() == "refusal") return block["refusal"].string().size();
  return static_cast<std::size_t>(std::max<std::int64_t>(block["size"].integer().value_or(0), 0));
}

// The block that a medium came from, with the medium's bytes; false when it is of another.
bool write_langgraph_medium(JsonBuilder& out, const json::Value& part) {
  const json::Value block = held_block(part, langgraph::provider);
  Media media;
  Media given;
  if (!block.is_object() || !message::read_media(media, part)) return false;
  const bool is_data = media.source == Media::Source::data;
  const bool has_address = langgraph::read_medium(given, block);
  if (is_data ? has_address : !has_address || given.value != media.value) return false;
  if (is_data) {
    write_with_bytes(out, block, langgraph::bytes_path(block), media.value);
  } else {
    out.value(block);
  }
  return true;
}

// `binary` and images by value or address become the block that every chat model of LangChain
// knows; other parts go as they are.
void write_langgraph_part(JsonBuilder& out, const json::Value& part) {
  if (const json::Value block = stand_in_block(part, langgraph::provider)) return out.value(block);
  if (write_langgraph_medium(out, part)) return;
  Media media;
  const bool known = message::read_media(media, part) && media.source != Media::Source::file;
  if (!known || (part["type"].string() != "binary" && media.kind != Media::Kind::image)) {
    out.value(part);
    return;
  }
  out.open_object();
  out.text("type", "image_url");
  if (media.metadata[langgraph::bare_member].is_true()) {
    message::write_url(out, "image_url", media);
    out.close_object();
    return;
  }
  out.open_object("image_url");
  message::write_url(out, "url", media);
  out.filled("detail", media.metadata["detail"].string());
  out.close_object();
  out.close_object();
}

// The blocks of an answer, whose texts are known by their sizes; false when there are none such, or
// the text is another by now.
bool write_sized_blocks(JsonBuilder& out, const json::Value& blocks, std::string_view text) {
  std::size_t sum = 0;
  bool is_sized = false;
  for (const json::Value block : blocks.items()) {
    is_sized = is_sized || !block["size"].is_nothing();
    sum += text_size_of(block);
  }
  if (!is_sized || sum != text.size()) return false;
  out.open_array("content");
  for (const json::Value block : blocks.items()) {
    out.open_object();
    for (const auto& [key, value] : block.members()) {
      if (key != "size") out.value(key, value);
    }
    if (!block["size"].is_nothing()) out.text("text", text.substr(0, text_size_of(block)));
    out.close_object();
    text.remove_prefix(text_size_of(block));
  }
  out.close_array();
  return true;
}

// The blocks that the content was read from, when its text is still theirs.
bool write_retained_blocks(JsonBuilder& out, const Message& message, std::string_view text) {
  const auto* state = message.metadata.find(langgraph::provider, langgraph::list_state);
  if (state == nullptr) return false;
  json::Document document(message::depth_limit);
  const auto blocks = document.parse(state->json);
  if (!blocks) return false;
  if (write_sized_blocks(out, blocks.value(), text)) return true;
  if (langgraph::text_of_blocks(blocks.value()) != text) return false;
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
  if (write_list(out, "content", message.metadata, langgraph::provider, text)) return;
  out.text("content", text);
}

// Members that a canonical message or call has no place for, as they came.
void write_langgraph_members(JsonBuilder& out, const message::Metadata& metadata,
                             std::string_view kind) {
  const auto* state = metadata.find(langgraph::provider, kind);
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
  return call.metadata.find(langgraph::provider, langgraph::invalid_kind) != nullptr;
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
    write_langgraph_members(out, call.metadata, langgraph::invalid_kind);
    out.close_object();
  }
  out.close_array();
}

void write_one(JsonBuilder& out, const Message& message) {
  const auto* state = message.metadata.find(langgraph::provider, langgraph::members_kind);
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
  if (const auto* kwargs = message.metadata.find(langgraph::provider, langgraph::kwargs_kind)) {
    out.raw("additional_kwargs", kwargs->json);
  }
  write_langgraph_members(out, message.metadata, langgraph::members_kind);
  out.close_object();
}

}  // namespace

void write_langgraph(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  for (const Message& message : messages) {
    if (message.role == Role::activity && message.activity_type == langgraph::remove_activity) {
      out.raw(message.content.text);
    } else if (message.role != Role::reasoning && message.role != Role::activity) {
      write_one(out, message);
    }
  }
  out.close_array();
}

}  // namespace millrace::format
