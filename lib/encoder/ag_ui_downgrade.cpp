#include "encoder/ag_ui_downgrade.hpp"

#include "base/json.hpp"
#include "base/json_depth.hpp"

namespace millrace::encoder::ag_ui {
namespace {

constexpr std::string_view subagent = "subagentRunId";

void append_text(std::string& out, const json::Value& parts) {
  std::string text;
  for (const json::Value part : parts.items()) {
    if (part["type"].string() == "text") text.append(part["text"].string());
  }
  json::append_string(out, text);
}

void append_parts(std::string& out, const json::Value& parts) {
  out.push_back('[');
  for (const json::Value part : parts.items()) {
    if (part["source"]["type"].string() == "file") continue;
    if (out.back() != '[') out.push_back(',');
    part.write(out);
  }
  out.push_back(']');
}

void append_message(std::string& out, const json::Value& message) {
  out.push_back('{');
  for (const json::Member& member : message.members()) {
    const json::Value& value = member.value;
    if (member.key == subagent) continue;
    if (member.key != "content" || !value.is_array()) {
      json::append_member(out, member);
      continue;
    }
    json::append_raw_member(out, "content", {});
    if (message["role"].string() == "tool") {
      append_text(out, value);
    } else {
      append_parts(out, value);
    }
  }
  out.push_back('}');
}

}  // namespace

std::string older_messages(std::string_view json) {
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(json);
  if (!value || !value.value().is_array()) return std::string(json);
  std::string out = "[";
  for (const json::Value message : value.value().items()) {
    if (out.back() != '[') out.push_back(',');
    append_message(out, message);
  }
  out.push_back(']');
  return out;
}

}  // namespace millrace::encoder::ag_ui
