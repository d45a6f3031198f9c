#include "adapter/openai_items.hpp"

#include <algorithm>
#include <array>

#include "adapter/further_members.hpp"
#include "base/json_members.hpp"
#include "base/text_hash.hpp"

namespace millrace::adapter::openai {
namespace {

using enum ItemGroup;

constexpr std::string_view list_type = "mcp_list_tools";
constexpr auto keep = json::Surrogates::keep;

// Source: xAI Responses API, recorded answers; ai-sdk xai 3.0.
constexpr ItemType run_by_xai(std::string_view type) {
  return {.type = type,
          .group = call,
          .hosted = true,
          .arguments_kind = Content::member,
          .arguments = "arguments"};
}

constexpr std::array types{
    ItemType{.type = "message", .group = message},
    ItemType{.type = "reasoning", .group = reasoning},
    ItemType{.type = "function_call",
             .group = call,
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "arguments"},
    ItemType{.type = "custom_tool_call",
             .group = call,
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "input"},
    ItemType{.type = "mcp_call",
             .group = call,
             .hosted = true,
             .arguments_kind = Content::member,
             .arguments = "arguments",
             .result_kind = Content::member,
             .result = "output"},
    ItemType{.type = list_type,
             .group = call,
             .tool = list_type,
             .hosted = true,
             .arguments_kind = Content::wrapped,
             .arguments = "server_label",
             .result_kind = Content::listing},
    ItemType{.type = "web_search_call",
             .group = call,
             .tool = "web_search",
             .hosted = true,
             .arguments_kind = Content::member,
             .arguments = "action",
             .result_kind = Content::member,
             .result = "output"},
    run_by_xai("x_search_call"),
    run_by_xai("code_execution_call"),
    run_by_xai("view_image_call"),
    run_by_xai("view_x_video_call"),
    ItemType{.type = "file_search_call",
             .group = call,
             .tool = "file_search",
             .hosted = true,
             .arguments_kind = Content::wrapped,
             .arguments = "queries",
             .result_kind = Content::member,
             .result = "results"},
    ItemType{.type = "code_interpreter_call",
             .group = call,
             .tool = "code_interpreter",
             .hosted = true,
             .arguments_kind = Content::wrapped,
             .arguments = "code",
             .result_kind = Content::member,
             .result = "outputs"},
    ItemType{.type = "image_generation_call",
             .group = call,
             .tool = "image_generation",
             .hosted = true,
             .result_kind = Content::image},
    ItemType{.type = "computer_call",
             .group = call,
             .tool = "computer",
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "action"},
    ItemType{.type = "local_shell_call",
             .group = call,
             .tool = "local_shell",
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "action"},
    ItemType{.type = "shell_call",
             .group = call,
             .tool = "shell",
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "action"},
    ItemType{.type = "apply_patch_call",
             .group = call,
             .tool = "apply_patch",
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "operation"},
    ItemType{.type = "tool_search_call",
             .group = call,
             .tool = "tool_search",
             .by_call_id = true,
             .arguments_kind = Content::member,
             .arguments = "arguments"},
    ItemType{.type = "function_call_output",
             .group = result,
             .result_kind = Content::member,
             .result = "output",
             .answers = "function_call"},
    ItemType{.type = "custom_tool_call_output",
             .group = result,
             .result_kind = Content::member,
             .result = "output",
             .answers = "custom_tool_call"},
    ItemType{.type = "local_shell_call_output",
             .group = result,
             .result_kind = Content::member,
             .result = "output",
             .answers = "local_shell_call"},
    ItemType{.type = "shell_call_output",
             .group = result,
             .result_kind = Content::member,
             .result = "output",
             .answers = "shell_call"},
    ItemType{.type = "apply_patch_call_output",
             .group = result,
             .result_kind = Content::member,
             .result = "output",
             .answers = "apply_patch_call"},
    ItemType{.type = "tool_search_output",
             .group = result,
             .result_kind = Content::member,
             .result = "tools",
             .answers = "tool_search_call"},
    ItemType{.type = ""},
};

// What xAI calls by itself when it searches X. Source: xAI Responses API, recorded answers.
constexpr ItemType x_search{.type = "custom_tool_call",
                            .group = call,
                            .by_call_id = true,
                            .hosted = true,
                            .arguments_kind = Content::member,
                            .arguments = "input"};
constexpr std::string_view x_search_id = "xs_call_";

std::string wrapped(std::string_view key, const json::Value& value) {
  std::string out = "{";
  json::append_raw_member(out, key, value.to_json(keep));
  out.push_back('}');
  return out;
}

bool is_failed(std::string_view status) {
  return status == "failed" || status == "incomplete";
}

std::string image_result(const json::Value& item) {
  const std::string_view status = item["status"].string();
  std::string out = "{";
  if (!status.empty()) json::append_member(out, "status", status);
  if (!is_failed(status)) json::append_member(out, "image", "generated");
  out.push_back('}');
  return out;
}

std::string listing(const json::Value& item) {
  const json::Value tools = item["tools"];
  std::string names = "[";
  for (const json::Value tool : tools.items()) {
    if (names.size() > 1) names.push_back(',');
    json::append_string(names, tool["name"].string(), keep);
  }
  names.push_back(']');
  std::string out = "{";
  if (const json::Value label = item["server_label"]; !label.is_nothing()) {
    json::append_raw_member(out, "server_label", label.to_json(keep));
  }
  json::append_member(out, "tool_count", static_cast<std::int64_t>(tools.size()));
  json::append_raw_member(out, "tools", names);
  out.push_back('}');
  return out;
}

// The texts of a list that holds nothing but texts, joined; else the text of the value, or its
// JSON.
std::string text_of_output(const json::Value& output) {
  constexpr std::array<std::string_view, 3> text_types{"text", "input_text", "output_text"};
  std::string text;
  for (const json::Value part : output.items()) {
    const bool is_text =
        std::find(text_types.begin(), text_types.end(), part["type"].string()) != text_types.end();
    if (!is_text || !part["text"].is_string()) return text_or_json(output);
    text.append(part["text"].string());
  }
  return output.is_array() && output.size() > 0 ? text : text_or_json(output);
}

// The text of an error object: its message, else the texts of its content, else the whole of it.
std::string error_text(const json::Value& error) {
  if (const auto message = error["message"].filled_string()) return std::string(*message);
  std::string text;
  for (const json::Value part : error["content"].items()) text.append(part["text"].string());
  return text.empty() ? error.to_json(keep) : text;
}

// A hosted call goes back as the item it was. An MCP call says as a call what it was asked and what
// it answered; the bytes of an image are kept as an image.
std::string hosted_state(const json::Value& item) {
  constexpr std::array<std::string_view, 4> received{"name", "arguments", "output", "error"};
  const std::string_view type = item["type"].string();
  const bool is_mcp = type == "mcp_call";
  std::string out = "{";
  for (const auto& [key, value] : item.members()) {
    // An error that is an object says more than its text.
    const bool is_error = key == "error" && value.is_object();
    // An output that is null or empty goes back as that.
    const bool is_none = value.is_nothing() || (value.is_string() && value.string().empty());
    const bool is_no_output = key == "output" && is_none;
    const bool is_in_text = is_mcp && !is_error && !is_no_output &&
                            std::find(received.begin(), received.end(), key) != received.end();
    const bool is_image = type == "image_generation_call" && key == "result";
    if (!is_in_text && !is_image) json::append_raw_member(out, key, value.to_json(keep));
  }
  out.push_back('}');
  return out;
}

}  // namespace

const ItemType& item_type(std::string_view type) {
  const auto* row = std::find_if(types.begin(), types.end() - 1,
                                 [&](const ItemType& t) { return t.type == type; });
  return *row;
}

const ItemType& item_type(const json::Value& item) {
  const std::string_view type = item["type"].string();
  const bool is_x_search =
      type == x_search.type && item["call_id"].string().starts_with(x_search_id);
  return is_x_search ? x_search : item_type(type);
}

std::string_view tool_of(const ItemType& type, const json::Value& item) {
  if (!type.tool.empty()) return type.tool;
  const std::string_view name = item["name"].string();
  const bool is_nameless = name.empty() && type.hosted && item["status"].string() == "completed";
  return is_nameless ? type.type.substr(0, type.type.rfind('_')) : name;
}

std::string call_id_of(const ItemType& type, const json::Value& item,
                       std::optional<std::int64_t> output_index) {
  std::string_view id = item["id"].string();
  if (type.by_call_id && item["call_id"].filled_string()) id = item["call_id"].string();
  if (!id.empty() || !type.hosted || !output_index) return std::string(id);
  return std::string(type.type) + "_" + std::to_string(*output_index);
}

std::string text_or_json(const json::Value& value) {
  if (value.is_nothing()) return {};
  return value.is_string() ? std::string(value.string()) : value.to_json(keep);
}

bool is_foreign(const json::Value& item) {
  const auto role = item["role"].filled_string();
  return item["type"].string() == "message" && role && *role != "assistant";
}

std::string arguments_of(const ItemType& type, const json::Value& item) {
  const json::Value value = item[type.arguments];
  // Newer computer calls hold a list of actions.
  const json::Value list = item["actions"];
  if (value.is_nothing() && type.arguments == "action" && !list.is_nothing()) {
    return wrapped("actions", list);
  }
  if (type.arguments_kind == Content::none) return {};
  // xAI has the arguments of each tool that it runs in one member.
  if (value.is_nothing()) return std::string(type.hosted ? item["arguments"].string() : "");
  return type.arguments_kind == Content::wrapped ? wrapped(type.arguments, value)
                                                 : text_or_json(value);
}

std::string result_of(const ItemType& type, const json::Value& item) {
  switch (type.result_kind) {
    case Content::member: return text_of_output(item[type.result]);
    case Content::image: return image_result(item);
    case Content::listing: return listing(item);
    case Content::wrapped:
    case Content::none: break;
  }
  return {};
}

std::optional<std::string> failure_of(std::string_view tool, const json::Value& item) {
  const json::Value error = item["error"];
  if (const auto text = error.filled_string()) return std::string(*text);
  if (error.is_object() && error.size() > 0) return error_text(error);
  const std::string_view status = item["status"].string();
  if (!is_failed(status)) return std::nullopt;
  return std::string(tool) + " " + std::string(status);
}

std::string state_of(const ItemType& type, const json::Value& item) {
  // So does a call of a tool that the provider made and the host runs.
  if (type.hosted || (type.by_call_id && !type.tool.empty())) return hosted_state(item);
  const bool has_other_id = type.by_call_id && item["call_id"].filled_string();
  std::string out = "{";
  json::append_member(out, "type", type.type);
  const std::size_t bare = out.size();
  for (const std::string_view key :
       {"phase", "namespace", "caller", "pending_safety_checks", "async", "status"}) {
    const json::Value value = item[key];
    const bool is_list = value.is_array() || value.is_object();
    if (value.is_nothing() || (is_list && value.size() == 0)) continue;
    // A message that is shown is complete, unless it says otherwise.
    if (key == "status" && !type.by_call_id && value.string() == "completed") continue;
    json::append_raw_member(out, key, value.to_json(keep));
  }
  const std::string_view id = item["id"].string();
  if (!id.empty() && (has_other_id || out.size() > bare)) json::append_member(out, "id", id);
  if (out.size() == bare) return {};
  out.push_back('}');
  return out;
}

std::string output_state_of(const ItemType& type, const json::Value& item) {
  std::string out = "{";
  for (const auto& [key, value] : item.members()) {
    // A list is shown as its texts.
    if (key != type.result || (value.is_array() && type.result == "output")) {
      json::append_raw_member(out, key, value.to_json(keep));
    }
  }
  return out.append("}");
}

std::string content_of(const json::Value& message, const std::map<std::int64_t, TextHash>& shown) {
  constexpr std::array<std::string_view, 5> known{"type", "text", "refusal", "annotations",
                                                  "logprobs"};
  const json::Value content = message["content"];
  bool is_plain = content.size() <= 1 && shown.empty();
  std::int64_t number = 0;
  std::string parts = R"({"parts":[)";
  for (const json::Value part : content.items()) {
    const std::string_view type = part["type"].string();
    const std::string_view text = part[type == "refusal" ? "refusal" : "text"].string();
    const json::Value annotations = part["annotations"];
    const json::Value logprobs = part["logprobs"];
    const std::string further = json::further_members(part, known);
    is_plain = is_plain && (type == "output_text" || type.empty()) && annotations.size() == 0 &&
               logprobs.size() == 0 && further.empty();
    if (parts.back() == '}') parts.push_back(',');
    parts.push_back('{');
    const auto other = shown.find(number++);
    const TextHash hash = other == shown.end() ? TextHash(text) : other->second;
    json::append_member(parts, "size", static_cast<std::int64_t>(hash.size()));
    json::append_member(parts, "hash", hash.text());
    if (other != shown.end()) json::append_member(parts, "whole", text, keep);
    if (!type.empty()) json::append_member(parts, "type", type);
    if (annotations.is_array()) {
      json::append_member(parts, "annotations", static_cast<std::int64_t>(annotations.size()));
    }
    if (logprobs.size() > 0) json::append_raw_member(parts, "logprobs", logprobs.to_json());
    if (!further.empty()) json::append_raw_member(parts, members_kind, "{" + further + "}");
    parts.push_back('}');
  }
  return is_plain ? std::string() : parts + "]}";
}

std::string image_of(const ItemType& type, const json::Value& item) {
  if (type.result_kind != Content::image) return {};
  const auto data = item["result"].filled_string();
  if (!data) return {};
  const auto format = item["output_format"].filled_string();
  std::string url = "data:image/";
  url.append(format.value_or("png")).append(";base64,").append(*data);
  std::string out = R"({"type":"image_url","image_url":{)";
  json::append_member(out, "url", url);
  return out.append("}}");
}

}  // namespace millrace::adapter::openai
