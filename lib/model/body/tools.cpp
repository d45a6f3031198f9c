#include "model/body/tools.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "message/tool_name.hpp"
#include "model/body/fields.hpp"
#include "model/body/members.hpp"
#include "model/payload/payload_tools.hpp"
#include "model/schema/fitted_schema.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;

template <class Write>
void write_typed(JsonBuilder& out, std::string_view type, ToolShape shape, const Write& write,
                 const FurtherMembers& further = {}) {
  out.open_object();
  out.text("type", type);
  if (shape == ToolShape::nested) out.open_object(type);
  write();
  if (shape == ToolShape::nested) out.close_object();
  write_members(out, further);
  out.close_object();
}

void write_tool_name(JsonBuilder& out, std::string_view type, ToolShape shape,
                     std::string_view name, const FurtherMembers& inner = {},
                     const FurtherMembers& further = {}) {
  write_typed(
      out, type, shape,
      [&] {
        out.text("name", message::sendable_name(name));
        write_members(out, inner);
      },
      further);
}

void write_text_format(JsonBuilder& out, std::string_view json, ToolShape shape) {
  json::Document document;
  const auto format = document.parse(json);
  if (!format) return;
  const json::Value type = format.value()["type"];
  const json::Value nested = format.value()["grammar"];
  const json::Value grammar = nested.is_object() ? nested : format.value();
  out.open_object("format");
  out.text("type", type.string());
  if (type.string() == "grammar") {
    if (shape == ToolShape::nested) out.open_object("grammar");
    out.value("syntax", grammar["syntax"]);
    out.value("definition", grammar["definition"]);
    if (shape == ToolShape::nested) out.close_object();
  }
  out.close_object();
}

// Functions and custom tools are named in the shape of the API, others stay as they are.
void write_allowed_tools(JsonBuilder& out, const json::Value& choice, ToolShape shape) {
  const json::Value nested = choice["allowed_tools"];
  const json::Value allowed = nested.is_object() ? nested : choice;
  const auto write_tools = [&] {
    out.text("mode", allowed["mode"].filled_string().value_or("auto"));
    out.open_array("tools");
    for (const json::Value item : allowed["tools"].items()) {
      const std::string_view type = item["type"].string();
      const json::Value inner = item[type];
      const auto name = (inner.is_object() ? inner : item)["name"].filled_string();
      if (name && (type == "function" || type == "custom")) {
        write_tool_name(out, type, shape, *name, further_members(inner, {"name"}),
                        further_members(item, {"type", "name", type}));
      } else {
        out.value(item);
      }
    }
    out.close_array();
    if (nested.is_object()) write_members(out, further_members(nested, {"mode", "tools"}));
  };
  write_typed(out, "allowed_tools", shape, write_tools,
              further_members(choice, {"type", "allowed_tools", "mode", "tools"}));
}

// Whether the tool is one of the vendor's own, which goes out as it was given, of that name.
bool is_own_tool(const Tool& tool, std::string_view name) {
  if (!tool.name.empty() || name.empty()) return false;
  json::Document document;
  const auto value = document.parse(tool.raw);
  return value && value.value()["name"].string() == name;
}

}  // namespace

void write_members(JsonBuilder& out, const FurtherMembers& members) {
  for (const auto& [name, value] : members) out.raw(name, value);
}

void write_text_tool(JsonBuilder& out, const Draft& draft, const Tool& tool, ToolShape shape) {
  write_typed(out, "custom", shape, [&] {
    out.text("name", tool.name);
    out.filled("description", tool.description);
    if (!tool.format.empty()) write_text_format(out, tool.format, shape);
    write_tool_members(out, draft, tool,
                       shape == ToolShape::flat ? Dialect::openai_responses : Dialect::openai_chat);
  });
}

void note_choice_members(const Draft& draft) {
  for (const auto& [name, value] : draft.payload.tool_choice.extra) {
    draft.note("tool_choice." + name, "The API has the choice as a word: the member is left out.");
  }
}

void write_certain_choice(JsonBuilder& out, const ChatPayload& payload, ToolShape shape) {
  const ToolChoice& choice = payload.tool_choice;
  JsonBuilder written(json::Surrogates::replace);
  json::Document document;
  const auto other = document.parse(choice.raw.empty() ? "{}" : choice.raw);
  if (choice.raw.empty()) {
    const auto tool = std::find_if(payload.tools.begin(), payload.tools.end(),
                                   [&](const Tool& one) { return one.name == choice.name; });
    const bool takes_text = tool != payload.tools.end() && tool->takes_text;
    write_tool_name(written, takes_text ? "custom" : "function", shape, choice.name,
                    choice.inner_extra, choice.extra);
  } else if (other && other.value()["type"].string() == "allowed_tools") {
    write_allowed_tools(written, other.value(), shape);
  } else {
    written.raw(choice.raw);
  }
  out.written("tool_choice", written.take());
}

std::string sent_schema(const Draft& draft, std::string_view what, std::string_view schema,
                        bool is_strict) {
  SchemaRules rules;
  rules.no_lookaround = is_strict && draft.has(Quirk::strict_no_lookaround);
  rules.prefix_items = rules.type_in_branches = draft.has(Quirk::prefix_items);
  FittedSchema fitted = fitted_schema(schema, rules);
  if (fitted.patterns_left_out > 0) {
    draft.note(what, "Patterns that look around are refused under `strict` and left out: " +
                         std::to_string(fitted.patterns_left_out) + ".");
  }
  return std::move(fitted.json);
}

void write_function(message::JsonBuilder& out, const Draft& draft, const Tool& tool,
                    std::string_view schema_key, bool knows_strict) {
  out.text("name", tool.name);
  out.filled("description", tool.description);
  out.raw(schema_key, sent_schema(draft, "tools", tool.parameters, tool.strict == true));
  if (tool.strict && knows_strict) out.flag("strict", *tool.strict);
}

void note_no_strict(const Draft& draft) {
  const auto& tools = draft.payload.tools;
  if (std::none_of(tools.begin(), tools.end(), [](const Tool& t) { return t.strict == true; })) {
    return;
  }
  draft.note("tools.strict", "The model is not held to schemas of tools here.");
}

void write_chat_tool(message::JsonBuilder& out, const Draft& draft, const Tool& tool) {
  if (tool.name.empty()) {
    out.raw(tool.raw);
    return;
  }
  out.open_object();
  out.text("type", "function");
  out.open_object("function");
  write_function(out, draft, tool, "parameters");
  write_tool_members(out, draft, tool, Dialect::openai_chat);
  out.close_object();
  out.close_object();
}

Result<void> check_tools(const Draft& draft) {
  constexpr std::size_t most = 128;
  const ChatPayload& payload = draft.payload;
  if (draft.has(Quirk::tool_limit_128) && payload.tools.size() > most) {
    return make_error(Errc::tool_limit_exceeded, std::to_string(payload.tools.size()) +
                                                     " tools are more than the " +
                                                     std::to_string(most) + " that the provider " +
                                                     draft.config.id + " accepts. Offer fewer.");
  }
  const ToolChoice& choice = payload.tool_choice;
  const bool demands =
      choice.kind == ToolChoice::Kind::required || choice.kind == ToolChoice::Kind::tool;
  if (!demands) return {};
  const bool known = std::any_of(payload.tools.begin(), payload.tools.end(), [&](const Tool& tool) {
    return choice.name.empty() || tool.name == choice.name || is_own_tool(tool, choice.name);
  });
  if (known) return {};
  return make_error(Errc::invalid_body, choice.name.empty()
                                            ? "`tool_choice` requires a tool, but `tools` is empty."
                                            : "`tool_choice` names \"" + choice.name +
                                                  "\", which is not among the tools.");
}

}  // namespace millrace::model
