// Chat messages -> canonical messages.

#include <algorithm>
#include <array>
#include <utility>

#include "format/openai.hpp"
#include "format/openai_members.hpp"
#include "format/openai_names.hpp"
#include "format/openai_parts_read.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using namespace openai;
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
  keep_message_members(message, value, found == rows.end());
  if (const auto author = value["name"].filled_string(); author && row.role != Role::tool) {
    message.name = *author;
  }
  messages_.push_back(std::move(message));
}

void ChatReader::read_user(Message& message, const json::Value& value) {
  const json::Value content = value["content"];
  message.content = content.is_array() ? read_content_parts(content)
                                       : message::Content::of_text(content.string());
}

void ChatReader::read_reasoning(const json::Value& value) {
  if (std::string text = reasoning_of_parts(value["content"]); !text.empty()) {
    Message& reasoning = messages_.emplace_back();
    reasoning.role = Role::reasoning;
    reasoning.id = ids_.next_id();
    reasoning.content = message::Content::of_text(text);
    return;
  }
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
    if (refusal.is_string() && content.is_nothing()) {
      message.metadata.add(provider, refusal_kind, "true");
    }
  }
  keep_content(message, content);
  for (const json::Value call : value["tool_calls"].items()) read_call(message, call);
  if (const json::Value call = value["function_call"]; call.is_object()) {
    read_function_call(message, call);
  }
  for (const std::string_view kind : {details_kind, blocks_kind}) {
    for (const json::Value detail : value[kind].items()) {
      message.metadata.add(provider, kind, raw(detail));
    }
  }
  // Vendors name it one way or the other.
  if (value["prefix"].is_true() || value["partial"].is_true()) {
    message.metadata.add(provider, begun_kind, "true");
  }
  if (const json::Value audio = value[audio_kind]; audio["id"].is_string()) {
    // An answer has the audio itself beside its id.
    message.metadata.add(provider, audio_kind,
                         without(audio, {"data", "transcript", "expires_at"}));
  }
  for (const json::Value image : value["images"].items()) {
    message.metadata.add(provider, image_kind, raw(image));
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
  if (const json::Value index = value["index"]; index.is_number()) {
    call.metadata.add(mistral_provider, call_index_kind, raw(index));
  }
  if (const json::Value extra = value["extra_content"]; extra.is_object()) {
    call.metadata.add(provider, extra_kind, raw(extra));
  } else if (const json::Value signature = value["thoughtSignature"]; signature.is_string()) {
    call.encrypted_value = "{\"thoughtSignature\":" + raw(signature) + "}";
  }
  keep_call_members(call, value, custom ? "custom" : "function", body);
  message.tool_calls.push_back(std::move(call));
}

// The form before tool calls: one call a message, without an id.
void ChatReader::read_function_call(Message& message, const json::Value& value) {
  ToolCall call;
  call.id = ids_.next_id();
  call.name = value["name"].string();
  call.arguments = arguments_of(value["arguments"]);
  call.metadata.add(provider, function_call_kind, "true");
  keep_call_members(call, {}, "function", value);
  last_function_call_ = call.id;
  message.tool_calls.push_back(std::move(call));
}

void ChatReader::read_tool(Message& message, const json::Value& value) {
  const json::Value content = value["content"];
  bool has_media = false;
  for (const json::Value part : content.items()) {
    has_media = has_media || (part["type"].is_string() && is_held_as_part(message, part));
  }
  message.content =
      has_media ? read_content_parts(content) : message::Content::of_text(joined_text(content));
  message.tool_call_id = value["tool_call_id"].string();
  keep_content(message, content);
  if (const json::Value name = value["name"]; name.is_string()) {
    message.metadata.add(provider, tool_name_kind, raw(name));
  }
}

void ChatReader::read_function_result(Message& message, const json::Value& value) {
  message.content = message::Content::of_text(joined_text(value["content"]));
  message.tool_call_id = std::exchange(last_function_call_, {});
  if (const json::Value name = value["name"]; name.is_string()) {
    message.metadata.add(provider, function_call_kind, raw(name));
  }
}

void ChatReader::read_other(Message& message, const json::Value& value) {
  message.content = message::Content::of_text(joined_text(value["content"]));
  keep_content(message, value["content"]);
}

}  // namespace

Result<Messages> read_openai(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  MILLRACE_TRY(check_shapes(data, shapes::chat_message, "messages"));
  ChatReader reader(ids);
  for (const json::Value item : data.items()) reader.read(item);
  return reader.take();
}

}  // namespace millrace::format
