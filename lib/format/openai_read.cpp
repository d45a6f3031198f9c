// Chat messages -> canonical messages.

#include <algorithm>
#include <array>
#include <utility>

#include "format/openai.hpp"
#include "format/openai_names.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using namespace openai;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Messages;
using message::Role;
using message::ToolCall;

// Reads one list; holds what later messages need from earlier ones.
class ChatReader {
 public:
  explicit ChatReader(IdSource& ids) : ids_(ids) {}

  void read(const json::Value& value);
  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  void read_user(Message& message, const json::Value& value);
  void read_assistant(Message& message, const json::Value& value);
  void read_tool(Message& message, const json::Value& value);
  void read_function_result(Message& message, const json::Value& value);
  void read_other(Message& message, const json::Value& value);
  void read_call(Message& message, const json::Value& value);
  void read_function_call(Message& message, const json::Value& call);
  void read_reasoning(const json::Value& value);

  using Handler = void (ChatReader::*)(Message&, const json::Value&);
  struct Row {
    std::string_view name;
    Role role;
    Handler handler;
  };
  static constexpr std::size_t roles = 6;
  static const std::array<Row, roles> rows;

  IdSource& ids_;
  Messages messages_;
  std::string last_function_call_;  // id of the latest call in the form without ids
};

const std::array<ChatReader::Row, ChatReader::roles> ChatReader::rows{{
    {"user", Role::user, &ChatReader::read_user},
    {"assistant", Role::assistant, &ChatReader::read_assistant},
    {"tool", Role::tool, &ChatReader::read_tool},
    {"function", Role::tool, &ChatReader::read_function_result},
    {"developer", Role::developer, &ChatReader::read_other},
    {"system", Role::system, &ChatReader::read_other},
}};

void ChatReader::read(const json::Value& value) {
  if (!value.is_object()) return;
  const std::string_view name = value["role"].string();
  const auto* found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  const Row& row = found == rows.end() ? rows.back() : *found;
  Message message;
  message.role = row.role;
  if (row.role == Role::assistant) read_reasoning(value);
  message.id = id_of(value, ids_);
  (this->*row.handler)(message, value);
  if (const auto author = value["name"].filled_string(); author && row.role != Role::tool) {
    message.name = *author;
  }
  messages_.push_back(std::move(message));
}

// An image is a `binary` part, as OpenUI knows it, that is written back as the same URL.
void read_image(JsonBuilder& out, const json::Value& image) {
  const std::string_view url = image.is_string() ? image.string() : image["url"].string();
  message::DataUrl data;
  out.open_object();
  out.text("type", "binary");
  if (message::read_data_url(data, url)) {
    out.text("mimeType", data.mime_type);
    out.text("data", data.data);
  } else {
    out.text("mimeType", "image/*");
    out.text("url", url);
  }
  if (const auto detail = image["detail"].filled_string()) {
    out.open_object("metadata");
    out.text("detail", *detail);
    out.close_object();
  }
  out.close_object();
}

void read_audio(JsonBuilder& out, const json::Value& audio_data) {
  const std::string_view format = audio_data["format"].string();
  const auto* row = std::find_if(audio_formats.begin(), audio_formats.end(),
                                 [&](const AudioData& s) { return s.format == format; });
  const std::string mime_type = row == audio_formats.end() ? std::string("audio/").append(format)
                                                           : std::string(row->mime_type);
  Media media{Media::Kind::audio, Media::Source::data, audio_data["data"].string()};
  media.mime_type = mime_type;
  message::write_media(out, media);
}

void read_file(JsonBuilder& out, const json::Value& file) {
  Media media{Media::Kind::document, Media::Source::file, file["file_id"].string()};
  message::DataUrl data;
  const std::string_view text = file["file_data"].string();
  if (message::read_data_url(data, text)) {
    media.source = Media::Source::data;
    media.value = data.data;
    media.mime_type = data.mime_type;
  } else if (!text.empty()) {
    media.source = Media::Source::url;
    media.value = text;
  }
  media.filename = file["filename"].string();
  message::write_media(out, media);
}

void read_part(JsonBuilder& out, const json::Value& part) {
  const std::string_view type = part["type"].string();
  if (type == "image_url") {
    read_image(out, part["image_url"]);
  } else if (type == "input_audio") {
    read_audio(out, part["input_audio"]);
  } else if (type == "file") {
    read_file(out, part["file"]);
  } else {
    // The Responses API says `input_text`, some clients give no type.
    const bool is_text = type == "text" || type == "input_text" || part["type"].is_nothing();
    message::write_text_part(out, is_text ? part["text"].string() : "");
  }
}

void ChatReader::read_user(Message& message, const json::Value& value) {
  const json::Value content = value["content"];
  if (!content.is_array()) {
    message.content = message::Content::of_text(content.string());
    return;
  }
  JsonBuilder parts;
  parts.open_array();
  for (const json::Value part : content.items()) read_part(parts, part);
  parts.close_array();
  message.content = message::Content::of_parts(parts.take());
}

void ChatReader::read_reasoning(const json::Value& value) {
  for (const std::string_view kind : reasoning_kinds) {
    const auto text = value[kind].filled_string();
    if (!text) continue;
    Message reasoning;
    reasoning.role = Role::reasoning;
    reasoning.id = ids_.next_id();
    reasoning.content = message::Content::of_text(*text);
    reasoning.metadata.add(provider, kind, "true");
    messages_.push_back(std::move(reasoning));
    return;
  }
}

void ChatReader::read_assistant(Message& message, const json::Value& value) {
  const json::Value content = value["content"];
  const json::Value refusal = value["refusal"];
  if (!content.is_nothing() || refusal.is_string()) {
    std::string text = joined_text(content);
    for (const json::Value part : content.items()) text.append(part["refusal"].string());
    text.append(refusal.string());
    message.content = message::Content::of_text(text);
  }
  for (const json::Value call : value["tool_calls"].items()) read_call(message, call);
  if (const json::Value call = value["function_call"]; call.is_object()) {
    read_function_call(message, call);
  }
  for (const json::Value detail : value[details_kind].items()) {
    message.metadata.add(provider, details_kind, raw(detail));
  }
  // Vendors name it one way or the other.
  if (value["prefix"].is_true() || value["partial"].is_true()) {
    message.metadata.add(provider, begun_kind, "true");
  }
  if (const json::Value audio = value[audio_kind]; audio["id"].is_string()) {
    std::string id = "{";
    json::append_member(id, "id", audio["id"].string(), json::Surrogates::keep);
    message.metadata.add(provider, audio_kind, id + "}");
  }
}

void ChatReader::read_call(Message& message, const json::Value& value) {
  const std::string_view type = value["type"].string();
  const bool custom = type == "custom";
  if (!value.is_object() || !(custom || type == "function" || value["type"].is_nothing())) return;
  const json::Value body = value[custom ? "custom" : "function"];
  ToolCall call;
  call.id = value["id"].string();
  call.name = body["name"].string();
  call.arguments = arguments_of(body[custom ? "input" : "arguments"]);
  if (custom) call.metadata.add(provider, custom_kind, "true");
  if (const json::Value extra = value["extra_content"]; extra.is_object()) {
    call.metadata.add(provider, extra_kind, raw(extra));
  } else if (const json::Value signature = value["thoughtSignature"]; signature.is_string()) {
    call.encrypted_value = "{\"thoughtSignature\":" + raw(signature) + "}";
  }
  message.tool_calls.push_back(std::move(call));
}

// The form before tool calls: one call a message, without an id.
void ChatReader::read_function_call(Message& message, const json::Value& value) {
  ToolCall call;
  call.id = ids_.next_id();
  call.name = value["name"].string();
  call.arguments = arguments_of(value["arguments"]);
  last_function_call_ = call.id;
  message.tool_calls.push_back(std::move(call));
}

void ChatReader::read_tool(Message& message, const json::Value& value) {
  message.content = message::Content::of_text(joined_text(value["content"]));
  message.tool_call_id = value["tool_call_id"].string();
}

void ChatReader::read_function_result(Message& message, const json::Value& value) {
  message.content = message::Content::of_text(joined_text(value["content"]));
  message.tool_call_id = std::exchange(last_function_call_, {});
}

void ChatReader::read_other(Message& message, const json::Value& value) {
  message.content = message::Content::of_text(joined_text(value["content"]));
}

}  // namespace

Result<Messages> read_openai(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  ChatReader reader(ids);
  for (const json::Value item : data.items()) reader.read(item);
  return reader.take();
}

}  // namespace millrace::format
