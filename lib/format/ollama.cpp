#include "format/ollama.hpp"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "format/open_calls.hpp"
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

// The member `tool_name` of a message that answers no call that is there.
constexpr std::string_view tool_name_state = "tool_name";

// The base64 of an image part, or ""; `held` keeps what the address had as text.
std::string_view image_data(const json::Value& part, std::string& held) {
  Media media;
  if (!message::read_media(media, part) || media.kind != Media::Kind::image) return {};
  message::take_data_url(media, held);
  return media.source == Media::Source::data ? media.value : std::string_view();
}

void write_images(JsonBuilder& out, const Content& content) {
  const message::Parts parts(content);
  bool any = false;
  for (const json::Value part : parts.items()) {
    std::string held;
    const std::string_view data = image_data(part, held);
    if (data.empty()) continue;
    if (!std::exchange(any, true)) out.open_array("images");
    out.text(data);
  }
  if (any) out.close_array();
}

void write_calls(JsonBuilder& out, const std::vector<ToolCall>& calls) {
  if (calls.empty()) return;
  out.open_array("tool_calls");
  for (const ToolCall& call : calls) {
    out.open_object();
    out.filled("id", call.id);
    out.open_object("function");
    out.text("name", call.name);
    write_arguments(out, "arguments", call.arguments);
    out.close_object();
    out.close_object();
  }
  out.close_array();
}

class OllamaReader {
 public:
  explicit OllamaReader(IdSource& ids) : ids_(ids) {}

  void read(const json::Value& value) {
    const std::string_view role = value["role"].string();
    if (role == "user") {
      add(Role::user, value).content = content_of(value);
    } else if (role == "assistant") {
      read_assistant(value);
    } else if (role == "tool") {
      Message& message = add(Role::tool, value);
      message.tool_call_id = answered_id(value);
      message.content = Content::of_text(value["content"].string());
    } else if (value.is_object()) {
      add(Role::system, value).content = Content::of_text(value["content"].string());
    }
    const json::Value name = value["tool_name"];
    const bool is_known = role == "tool" && !is_unmatched_;
    if (name.is_string() && !is_known) {
      messages_.back().metadata.add("ollama", tool_name_state, raw(name));
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

  static Content content_of(const json::Value& value) {
    const json::Value images = value["images"];
    const std::string_view text = value["content"].string();
    if (images.size() == 0) return Content::of_text(text);
    JsonBuilder out;
    out.open_array();
    if (!text.empty()) message::write_text_part(out, text);
    for (const json::Value image : images.items()) {
      Media media{Media::Kind::image, Media::Source::data, image.string()};
      media.mime_type = message::type_by_base64(media.value);
      message::write_media(out, media);
    }
    out.close_array();
    return Content::of_parts(out.take());
  }

  void read_assistant(const json::Value& value) {
    if (const auto reasoning_part = value["thinking"].filled_string()) {
      add(Role::reasoning, {}).content = Content::of_text(*reasoning_part);
    }
    Message& message = add(Role::assistant, value);
    message.content = Content::of_text(value["content"].string());
    for (const json::Value call : value["tool_calls"].items()) {
      const json::Value function = call["function"];
      ToolCall& added = message.tool_calls.emplace_back();
      added.id = call["id"].filled_string() ? std::string(call["id"].string()) : ids_.next_id();
      added.name = function["name"].string();
      added.arguments = read_arguments(function["arguments"]);
      open_.add(added.id, added.name);
    }
  }

  // The call that a result answers: the one it names, else the first of its tool that waits, else
  // the first that waits.
  std::string answered_id(const json::Value& value) {
    if (const auto id = value["tool_call_id"].filled_string()) {
      is_unmatched_ = !open_.take_id(*id);
      return std::string(*id);
    }
    const std::string_view name = value["tool_name"].string();
    auto id = open_.take_name(name);
    if (!id && name.empty()) id = open_.take_first();
    is_unmatched_ = !id;
    return id ? *std::move(id) : ids_.next_id();
  }

  IdSource& ids_;
  Messages messages_;
  OpenCalls open_;             // whose results are to come
  bool is_unmatched_ = false;  // the last result answers no call that is there
};

}  // namespace

void write_ollama(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array();
  std::string reasoning_part;
  // A result names the tool of the call that stands before it.
  std::unordered_map<std::string_view, std::string_view> names;
  for (const Message& message : messages) {
    if (message.role == Role::activity) continue;
    if (message.role == Role::reasoning) {
      reasoning_part.append(message::text_of(message.content));
      continue;
    }
    const bool is_result = message.role == Role::tool;
    const bool prompt = message.role == Role::developer;
    out.open_object();
    out.text("role", prompt ? "system" : message::name_of(message.role));
    out.text("content", is_result ? result_text(message) : message::text_of(message.content));
    write_images(out, message.content);
    if (message.role == Role::assistant) out.filled("thinking", reasoning_part);
    write_calls(out, message.tool_calls);
    const auto name = is_result ? names.find(message.tool_call_id) : names.end();
    if (const auto* given = message.metadata.find("ollama", tool_name_state)) {
      out.raw("tool_name", given->json);
    } else if (name != names.end()) {
      out.filled("tool_name", name->second);
    }
    if (is_result) out.filled("tool_call_id", message.tool_call_id);
    out.close_object();
    for (auto call = message.tool_calls.rbegin(); call != message.tool_calls.rend(); ++call) {
      names.insert_or_assign(call->id, call->name);
    }
    reasoning_part.clear();
  }
  out.close_array();
}

Result<Messages> read_ollama(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  OllamaReader reader(ids);
  for (const json::Value value : data.items()) reader.read(value);
  return reader.take();
}

}  // namespace millrace::format
