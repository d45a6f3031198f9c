#include "adapter/ag_ui_shapes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace millrace::adapter::ag_ui {
namespace {

enum class Is : std::uint8_t { string, object, not_null };

struct Optional {
  std::string_view key;
  Is kind;
};

// Copies the members that are there and of the right kind.
void copy_members(std::string& out, const json::Value& from,
                  std::initializer_list<Optional> members) {
  for (const auto& [key, kind] : members) {
    const json::Value value = from[key];
    const bool fits = kind == Is::string   ? value.is_string()
                      : kind == Is::object ? value.is_object()
                                           : !value.is_nothing();
    if (!fits) continue;
    json::append_raw_member(out, key, {});
    value.write(out);
  }
}

template <std::size_t size>
bool is_one_of(std::string_view text, const std::array<std::string_view, size>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Appends an array of the items that `append` makes legal.
template <class Append>
bool append_list(std::string& out, const json::Value& items, Append append) {
  if (!items.is_array()) return false;
  out.push_back('[');
  for (const json::Value item : items.items()) {
    const std::size_t before = out.size();
    if (out.back() != '[') out.push_back(',');
    if (!append(out, item)) out.resize(before);
  }
  out.push_back(']');
  return true;
}

bool append_source(std::string& out, const json::Value& source) {
  const std::string_view type = source["type"].string();
  const bool known =
      type == "url" || type == "file" || (type == "data" && source["mimeType"].is_string());
  if (!known || !source["value"].is_string()) return false;
  out.push_back('{');
  copy_members(out, source,
               {{"type", Is::string}, {"value", Is::string}, {"mimeType", Is::string}});
  if (type == "file") copy_members(out, source, {{"provider", Is::string}});
  out.push_back('}');
  return true;
}

bool append_part(std::string& out, const json::Value& part) {
  constexpr std::array<std::string_view, 4> media{"image", "audio", "video", "document"};
  const std::string_view type = part["type"].string();
  out.push_back('{');
  copy_members(out, part, {{"type", Is::string}});
  if (type == "text") {
    if (!part["text"].is_string()) return false;
    copy_members(out, part, {{"text", Is::string}});
  } else if (type == "binary") {
    const bool has_data =
        part["id"].is_string() || part["url"].is_string() || part["data"].is_string();
    if (!has_data || !part["mimeType"].is_string()) return false;
    copy_members(out, part,
                 {{"mimeType", Is::string},
                  {"url", Is::string},
                  {"data", Is::string},
                  {"filename", Is::string}});
  } else if (is_one_of(type, media)) {
    json::append_raw_member(out, "source", {});
    if (!append_source(out, part["source"])) return false;
  } else {
    return false;
  }
  copy_members(out, part, {{"id", Is::string}, {"metadata", Is::not_null}});
  out.push_back('}');
  return true;
}

bool append_call(std::string& out, const json::Value& call) {
  const json::Value function = call["function"];
  const json::Value arguments = function["arguments"];
  if (!call["id"].is_string() || !function["name"].is_string()) return false;
  out.push_back('{');
  copy_members(out, call, {{"id", Is::string}});
  json::append_member(out, "type", "function");
  json::append_raw_member(out, "function", "{");
  copy_members(out, function, {{"name", Is::string}});
  json::append_member(
      out, "arguments",
      arguments.is_string() ? arguments.string() : std::string_view(arguments.to_json()));
  out.push_back('}');
  copy_members(out, call, {{"encryptedValue", Is::string}, {"metadata", Is::object}});
  out.push_back('}');
  return true;
}

enum class Content : std::uint8_t { text, optional_text, text_or_parts, object };

// What the messages of a role may hold.
struct Role {
  std::string_view name;
  Content content;
  bool has_name;
};
constexpr std::array<Role, 7> roles{{
    {"user", Content::text_or_parts, true},
    {"assistant", Content::optional_text, true},
    {"system", Content::text, true},
    {"developer", Content::text, true},
    {"tool", Content::text_or_parts, false},
    {"reasoning", Content::text, false},
    {"activity", Content::object, false},
}};

bool append_content(std::string& out, const json::Value& content, Content kind) {
  if (kind == Content::object) {
    if (!content.is_object()) return false;
    json::append_raw_member(out, "content", content.to_json());
  } else if (kind == Content::text_or_parts && content.is_array()) {
    json::append_raw_member(out, "content", {});
    append_parts(out, content);
  } else if (content.is_array()) {
    json::append_member(out, "content", text_of_parts(content));
  } else if (content.is_string() || kind != Content::optional_text) {
    json::append_member(out, "content", content.string());
  }
  return true;
}

bool append_message(std::string& out, const json::Value& message) {
  const auto* role = std::find_if(roles.begin(), roles.end(), [&](const Role& row) {
    return row.name == message["role"].string();
  });
  if (role == roles.end() || !message["id"].is_string()) return false;
  out.push_back('{');
  copy_members(out, message, {{"id", Is::string}, {"role", Is::string}});
  if (!append_content(out, message["content"], role->content)) return false;
  if (role->has_name) copy_members(out, message, {{"name", Is::string}});
  if (role->name == "assistant" && message["toolCalls"].is_array()) {
    json::append_raw_member(out, "toolCalls", {});
    append_list(out, message["toolCalls"], append_call);
  } else if (role->name == "tool") {
    if (!message["toolCallId"].is_string()) return false;
    copy_members(out, message, {{"toolCallId", Is::string}, {"error", Is::string}});
  } else if (role->name == "activity") {
    if (!message["activityType"].is_string()) return false;
    copy_members(out, message, {{"activityType", Is::string}});
  }
  if (role->name != "activity") copy_members(out, message, {{"encryptedValue", Is::string}});
  copy_members(out, message, {{"metadata", Is::object}, {"subagentRunId", Is::string}});
  out.push_back('}');
  return true;
}

bool append_string_item(std::string& out, const json::Value& item) {
  item.write(out);
  return item.is_string();
}

// An interrupt is answered by its id: of those with one id all but the first get another. `ids` are
// those that are taken, and how often each was given.
bool append_interrupt(std::string& out, const json::Value& interrupt,
                      std::unordered_map<std::string, std::size_t>& ids) {
  if (!interrupt["id"].is_string() || !interrupt["reason"].is_string()) return false;
  const std::string given(interrupt["id"].string());
  std::string id = given;
  while (!ids.emplace(id, 1).second) id = given + "#" + std::to_string(++ids[given]);
  out.push_back('{');
  json::append_member(out, "id", id);
  copy_members(out, interrupt,
               {{"reason", Is::string},
                {"message", Is::string},
                {"toolCallId", Is::string},
                {"responseSchema", Is::object},
                {"expiresAt", Is::string},
                {"metadata", Is::object},
                {"subagentRunId", Is::string}});
  out.push_back('}');
  return true;
}

// True for a JSON Pointer: empty, or names behind slashes with ~ only as ~0 and ~1.
bool is_pointer(const json::Value& pointer) {
  const std::string_view text = pointer.string();
  if (!pointer.is_string() || (!text.empty() && text.front() != '/')) return false;
  for (std::size_t at = text.find('~'); at != std::string_view::npos; at = text.find('~', at + 1)) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (next != '0' && next != '1') return false;
  }
  return true;
}

bool is_operation(const json::Value& operation) {
  constexpr std::array<std::string_view, 3> with_value{"add", "replace", "test"};
  constexpr std::array<std::string_view, 2> with_from{"move", "copy"};
  const std::string_view op = operation["op"].string();
  if (!is_pointer(operation["path"])) return false;
  if (is_one_of(op, with_value)) return operation["value"].exists();
  if (is_one_of(op, with_from)) return is_pointer(operation["from"]);
  return op == "remove";
}

}  // namespace

bool append_messages(std::string& out, const json::Value& messages) {
  return append_list(out, messages, append_message);
}

bool append_parts(std::string& out, const json::Value& parts) {
  return append_list(out, parts, append_part);
}

event::RunOutcome read_outcome(std::string& list, const json::Value& outcome) {
  using event::RunOutcome;
  const std::string_view type = outcome["type"].string();
  if (type == "cancelled") return RunOutcome::cancelled;
  if (type == "success") {
    append_list(list, outcome["pendingToolCallIds"], append_string_item);
    return RunOutcome::success;
  }
  if (type != "interrupt") return RunOutcome::none;
  std::unordered_map<std::string, std::size_t> ids;
  const bool legal = append_list(list, outcome["interrupts"],
                                 [&](std::string& out, const json::Value& interrupt) {
                                   return append_interrupt(out, interrupt, ids);
                                 }) &&
                     list != "[]";
  return legal ? RunOutcome::interrupt : RunOutcome::none;
}

bool append_subagent_outcome(std::string& out, const json::Value& outcome) {
  const std::string_view type = outcome["type"].string();
  if (type != "success" && type != "suspended") return false;
  out.push_back('{');
  copy_members(out, outcome, {{"type", Is::string}});
  if (type == "suspended" && outcome["interruptIds"].is_array()) {
    json::append_raw_member(out, "interruptIds", {});
    append_list(out, outcome["interruptIds"], append_string_item);
  }
  out.push_back('}');
  return true;
}

bool is_patch(const json::Value& patch) {
  if (!patch.is_array()) return false;
  for (const json::Value operation : patch.items()) {
    if (!is_operation(operation)) return false;
  }
  return true;
}

bool is_safe_integer(const json::Value& number) {
  constexpr std::int64_t limit = (std::int64_t{1} << 53) - 1;
  const auto value = number.integer();
  return value && *value >= -limit && *value <= limit;
}

void append_source_members(std::string& out, const json::Value& event) {
  if (!event.may_have({"timestamp", "rawEvent"})) return;
  if (is_safe_integer(event["timestamp"])) {
    json::append_raw_member(out, "timestamp", event["timestamp"].number_text());
  }
  copy_members(out, event, {{"rawEvent", Is::not_null}});
}

void append_base_members(std::string& out, const json::Value& event) {
  if (!event.may_have({"timestamp", "rawEvent", "metadata"})) return;
  append_source_members(out, event);
  copy_members(out, event, {{"metadata", Is::object}});
}

std::string text_of_parts(const json::Value& parts) {
  std::string text;
  for (const json::Value part : parts.items()) {
    if (part["type"].string() == "text") text.append(part["text"].string());
  }
  return text;
}

}  // namespace millrace::adapter::ag_ui
