#include "format/openai_items.hpp"

#include <algorithm>
#include <array>

#include "format/openai_item_state.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Message;

constexpr std::string_view actions = "actions";

constexpr std::array call_types{
    CallType{.type = "web_search_call", .tool = "web_search", .arguments = "action"},
    CallType{.type = "file_search_call",
             .tool = "file_search",
             .arguments = "queries",
             .wrapped = true,
             .result = "results"},
    CallType{.type = "code_interpreter_call",
             .tool = "code_interpreter",
             .arguments = "code",
             .wrapped = true,
             .result = "outputs"},
    CallType{.type = "image_generation_call", .tool = "image_generation", .arguments = ""},
    CallType{.type = "mcp_list_tools",
             .tool = "mcp_list_tools",
             .arguments = "server_label",
             .wrapped = true,
             .result = "tools"},
    CallType{.type = "computer_call",
             .tool = "computer",
             .arguments = "action",
             .output_type = "computer_call_output",
             .output = OutputKind::screenshot},
    CallType{.type = "local_shell_call",
             .tool = "local_shell",
             .arguments = "action",
             .output_type = "local_shell_call_output",
             .output = OutputKind::text},
    CallType{.type = "shell_call",
             .tool = "shell",
             .arguments = "action",
             .output_type = "shell_call_output",
             .output = OutputKind::shell},
    CallType{.type = "apply_patch_call",
             .tool = "apply_patch",
             .arguments = "operation",
             .output_type = "apply_patch_call_output",
             .output = OutputKind::patch},
    CallType{.type = "tool_search_call",
             .tool = "tool_search",
             .arguments = "arguments",
             .output_type = "tool_search_output",
             .output = OutputKind::tools},
};

const CallType* find_call_type(std::string_view CallType::*member, std::string_view name) {
  const auto* row = std::find_if(call_types.begin(), call_types.end(),
                                 [&](const CallType& t) { return t.*member == name; });
  return row == call_types.end() || name.empty() ? nullptr : row;
}

// Newer computer calls hold a list of actions.
std::string_view arguments_key(const CallType& type, const json::Value& item) {
  const bool is_list =
      type.arguments == "action" && item["action"].is_nothing() && !item[actions].is_nothing();
  return is_list ? actions : type.arguments;
}

std::string text_or_json(const json::Value& value) {
  if (value.is_nothing()) return {};
  return value.is_string() ? std::string(value.string()) : raw(value);
}

// Writes the member from a text that is JSON, else `other`.
void write_json(JsonBuilder& out, std::string_view key, std::string_view text,
                std::string_view other) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(text);
  const bool is_json = value && (value.value().is_object() || value.value().is_array());
  out.raw(key, is_json ? text : other);
}

// The image of a result that has none: one pixel that is seen through.
constexpr std::string_view no_image =
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=";

// The screenshot of a history, as the API has it.
bool is_screenshot(std::string_view text) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(text);
  return value && value.value().is_object() && value.value()["type"].is_string();
}

bool has_image(const Message& result) {
  const message::Parts parts(result.content);
  message::Media media;
  for (const json::Value part : parts.items()) {
    if (message::read_media(media, part) && media.kind == message::Media::Kind::image) return true;
  }
  return is_screenshot(result_text(result));
}

// The API takes an image alone, or a list of tools: what else a result has is a message behind it.
void write_remark(JsonBuilder& out, std::string text, std::string_view remark) {
  text.append(remark);
  out.open_object();
  out.text("role", "user");
  out.text("content", text);
  out.text("type", "message");
  out.close_object();
}

void write_screenshot(JsonBuilder& out, const Message& result) {
  const message::Parts parts(result.content);
  for (const json::Value part : parts.items()) {
    message::Media media;
    if (!message::read_media(media, part) || media.kind != message::Media::Kind::image) continue;
    out.open_object("output");
    out.text("type", "computer_screenshot");
    if (media.source == message::Media::Source::file) {
      out.text("file_id", media.value);
    } else {
      message::write_url(out, "image_url", media);
    }
    out.close_object();
    return;
  }
  const std::string text = result_text(result);
  if (is_screenshot(text)) return out.raw("output", text);
  out.open_object("output");
  out.text("type", "computer_screenshot");
  out.text("image_url", no_image);
  out.close_object();
}

std::string sent_text(const Message& result) {
  return result_text(SentResult(result).message());
}

bool is_list_text(std::string_view text) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(text);
  return value && value.value().is_array();
}

// What a search for tools says beside the list of those that it found.
std::string remark_of_search(const Message& result) {
  const std::string text = message::text_of(result.content);
  if (!is_list_text(text)) return sent_text(result);
  return result.error.value_or("") == text ? std::string() : result.error.value_or("");
}

void write_found_tools(JsonBuilder& out, const Message& result) {
  const std::string text = message::text_of(result.content);
  out.raw("tools", is_list_text(text) ? text : "[]");
}

// Programs that are no shell give one text.
void write_shell_output(JsonBuilder& out, const Message& result) {
  const std::string text = result_text(result);
  const std::string error = result.error.value_or("");
  json::Document document(message::depth_limit);
  const auto value = document.parse(text);
  const bool is_list = value && value.value().is_array();
  const bool is_shown = error.empty() || error == text;
  out.open_array("output");
  if (is_list) {
    for (const json::Value one : value.value().items()) out.value(one);
  }
  if (!is_list || !is_shown) {
    const std::string line = is_list ? error : sent_text(result);
    out.open_object();
    out.text("stdout", result.error ? "" : line);
    out.text("stderr", result.error ? line : "");
    out.raw("outcome",
            result.error ? R"({"type":"exit","exit_code":1})" : R"({"type":"exit","exit_code":0})");
    out.close_object();
  }
  out.close_array();
}

void write_output(JsonBuilder& out, const CallType& type, const Message& result) {
  switch (type.output) {
    case OutputKind::screenshot: write_screenshot(out, result); break;
    case OutputKind::shell: write_shell_output(out, result); break;
    case OutputKind::tools: write_found_tools(out, result); break;
    case OutputKind::patch: out.filled("output", sent_text(result)); break;
    case OutputKind::text: out.text("output", sent_text(result)); break;
    case OutputKind::in_call: break;
  }
}

}  // namespace

const CallType* call_type(std::string_view type) {
  return find_call_type(&CallType::type, type);
}

const CallType* answered_type(std::string_view output_type) {
  return find_call_type(&CallType::output_type, output_type);
}

std::string arguments_of(const CallType& type, const json::Value& item) {
  const std::string_view key = arguments_key(type, item);
  const json::Value value = item[key];
  if (value.is_nothing()) return {};
  if (!type.wrapped && key != actions) return text_or_json(value);
  JsonBuilder out;
  out.open_object();
  out.value(key, value);
  out.close_object();
  return out.take();
}

std::string result_of(const CallType& type, const json::Value& item) {
  return text_or_json(item[type.result]);
}

namespace {

// Newer computer calls hold a list of actions, and an object that holds it is what a reader sees.
void write_actions(JsonBuilder& out, const message::ToolCall& call, const std::string& given) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(call.arguments);
  const json::Value list = value ? value.value()[actions] : json::Value();
  if (list.is_array()) return out.value(actions, list);
  const bool is_list = value && value.value().is_array();
  out.raw(actions, is_list ? std::string_view(call.arguments) : std::string_view(given));
}

// The member that the arguments are; they show it themselves where the item came from a client.
std::string_view written_key(const CallType& type, const message::ToolCall& call,
                             const json::Value& item) {
  const bool has_key = item["action"].exists() || item[actions].exists();
  if (type.output != OutputKind::screenshot || has_key) return arguments_key(type, item);
  json::Document document(message::depth_limit);
  const auto value = document.parse(call.arguments);
  return value && value.value()[actions].is_array() ? actions : type.arguments;
}

// The limit that the model sets for its output is sent again with the output.
void write_output_limit(JsonBuilder& out, const message::ToolCall& call) {
  json::Document document(message::depth_limit);
  const auto action = document.parse(call.arguments);
  if (!action) return;
  const json::Value limit = action.value()["max_output_length"];
  if (limit.integer()) out.value("max_output_length", limit);
}

// The API may give a call another id at its end than the one by which it began and was shown.
// Source: a recorded search for tools of gpt-5.4.
std::string answered_id(const Message& result, const message::ToolCall* call) {
  if (call == nullptr) return result.tool_call_id;
  const ItemState item(call->metadata);
  return std::string(item["call_id"].filled_string().value_or(result.tool_call_id));
}

}  // namespace

void write_item_call(JsonBuilder& out, const CallType& type, const message::ToolCall& call,
                     const json::Value& item) {
  const std::string_view key = written_key(type, call, item);
  out.open_object();
  out.text("type", type.type);
  for (const auto& [name, value] : item.members()) {
    if (name != "type" && name != key) out.value(name, value);
  }
  if (!item["call_id"].exists()) out.text("call_id", call.id);
  const std::string given = item[key].exists() ? raw(item[key]) : "{}";
  if (key == actions) {
    write_actions(out, call, given);
  } else {
    write_json(out, key, call.arguments, given);
  }
  const bool may_lack_status = type.output == OutputKind::shell || type.output == OutputKind::tools;
  if (!item["status"].exists() && !(may_lack_status && item.exists())) {
    out.text("status", "completed");
  }
  if (type.output == OutputKind::screenshot && !item["pending_safety_checks"].exists()) {
    out.raw("pending_safety_checks", "[]");
  }
  out.close_object();
}

void write_item_output(JsonBuilder& out, const CallType& type, const Message& result,
                       const json::Value& item, const message::ToolCall* call) {
  const std::string_view content = type.output == OutputKind::tools ? "tools" : "output";
  const bool is_of_type = item["type"].string() == type.output_type;
  // A local shell's output of a history is known by the id of its call.
  const bool has_id = type.output == OutputKind::text && item["id"].exists();
  const std::string_view id = has_id ? "id" : "call_id";
  out.open_object();
  out.text("type", type.output_type);
  if (is_of_type) {
    for (const auto& [name, value] : item.members()) {
      if (name != "type" && name != content && name != "status") out.value(name, value);
    }
  }
  if (!is_of_type || !item[id].exists()) out.text(id, answered_id(result, call));
  if (type.output == OutputKind::shell && call != nullptr && !item["max_output_length"].exists()) {
    write_output_limit(out, *call);
  }
  write_output(out, type, result);
  if (type.output == OutputKind::patch) {
    out.text("status", result.error ? "failed" : "completed");
  } else if (is_of_type && item["status"].exists()) {
    out.value("status", item["status"]);
  }
  out.close_object();
  if (type.output == OutputKind::screenshot && !has_image(result)) {
    write_remark(out, "The computer gave no image: ", result_text(result));
  } else if (type.output == OutputKind::tools) {
    const std::string remark = remark_of_search(result);
    if (!remark.empty()) write_remark(out, "The search for tools answered: ", remark);
  }
}

}  // namespace millrace::format::openai
