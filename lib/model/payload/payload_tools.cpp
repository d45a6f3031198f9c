#include "model/payload/payload_tools.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "base/json_members.hpp"
#include "base/shown.hpp"
#include "message/body_size.hpp"
#include "model/schema/tool_schema.hpp"

namespace millrace::model {

Error invalid_member(std::string_view member, std::string_view must, const json::Value& given) {
  std::string message = "`" + std::string(member) + "` " + std::string(must);
  if (given.exists()) message.append(", not ").append(shown_value(given));
  return make_error(Errc::invalid_body, message.append("."));
}

namespace {

constexpr std::string_view empty_schema = R"({"type":"object","properties":{}})";
// Of a tool that takes a text, where there are none such.
constexpr std::string_view text_schema =
    R"({"type":"object","properties":{"input":{"type":"string"}},"required":["input"]})";

// What the sent schema leaves open is noted where there is room, and cannot be enforced
// strictly.
Result<void> set_schema(Tool& tool, const json::Value& schema) {
  // OpenAI refuses longer descriptions of tools.
  constexpr std::size_t most_bytes = 1024;
  constexpr std::string_view described_lead = "The arguments follow this JSON Schema: ";
  auto plain = tool_schema(schema);
  if (!plain) return std::move(plain).error();
  tool.parameters = std::move(plain.value().json);
  const std::string& described = plain.value().described;
  if (described.empty()) return {};
  tool.strict.reset();
  const std::string_view gap = tool.description.empty() ? "" : "\n\n";
  if (tool.description.size() + gap.size() + described_lead.size() + described.size() <=
      most_bytes) {
    tool.description.append(gap).append(described_lead).append(described);
  }
  return {};
}

// What belongs to a tool: in Chat Completions it stands one step deeper.
json::Value inside(const json::Value& value, std::string_view type) {
  const json::Value inner = value[type];
  return inner.is_object() ? inner : value;
}

// Whether a tool is one that Google or Bedrock runs, as they spell them: `{codeExecution: {}}`.
// Google's may be several in one object, and members of other types may be beside them.
bool is_named_by_member(const json::Value& value) {
  constexpr std::array<std::string_view, 8> functions{
      "function", "custom", "parameters", "input_schema", "name", "description", "type", "id"};
  bool has_tool = false;
  for (const auto& [key, member] : value.members()) {
    if (std::find(functions.begin(), functions.end(), key) != functions.end()) return false;
    has_tool = has_tool || member.is_object() || member.is_array();
  }
  return has_tool;
}

// Members of the entry and of what is inside of it that have no field. AG-UI's `metadata` is for
// its clients.
void read_tool_members(const json::Value& value, std::string_view type, Tool& tool) {
  constexpr std::array<std::string_view, 9> fields{"type",       "name",          "description",
                                                   "parameters", "input_schema",  "strict",
                                                   "format",     "cache_control", "metadata"};
  const auto add_all = [&](const json::Value& object) {
    for (const auto& [key, member] : object.members()) {
      const std::string_view name(key);
      const bool is_field = name == type
                                ? member.is_object()
                                : std::find(fields.begin(), fields.end(), name) != fields.end();
      if (!is_field && !member.is_null()) tool.extra.emplace_back(name, member.to_json());
    }
  };
  add_all(value);
  if (const json::Value inner = value[type]; inner.is_object()) add_all(inner);
}

// A schema is an object, or `true` for any arguments. A tool that takes none at all cannot be
// called.
Result<void> check_schema(const json::Value& schema, std::string_view name) {
  if (schema.is_nothing() || schema.is_object() || schema.is_true()) return {};
  return invalid_member("tools[].parameters",
                        "of \"" + std::string(name) +
                            "\" must be a JSON Schema: an object, or true for any arguments",
                        schema);
}

// OpenAI's tools, AG-UI's and Anthropic's look alike; anything else is the provider's own.
Result<Tool> read_tool(const json::Value& value) {
  if (!value.is_object()) return invalid_member("tools", "must be an array of objects", value);
  const auto type = value["type"].filled_string();
  const json::Value function = inside(value, type.value_or("function"));
  const auto name = function["name"].filled_string();
  Tool tool;
  const bool own = type && *type != "function" && *type != "custom";
  if (own || !name) {
    if (type ? *type == "function" : !is_named_by_member(value)) {
      return invalid_member("tools", "has an entry without a name; give each tool a `name`");
    }
    tool.raw = value.to_json();
    return tool;
  }
  tool.name = *name;
  tool.description = function["description"].string();
  json::Value schema = function["parameters"];
  if (!schema.is_object() && !function["input_schema"].is_nothing()) {
    schema = function["input_schema"];
  }
  MILLRACE_TRY(check_schema(schema, *name));
  tool.takes_text = type == "custom" && !schema.is_object();
  // Anthropic's own word for a function.
  if (type == "custom" && schema.is_object()) tool.extra.emplace_back("type", R"("custom")");
  if (tool.takes_text && function["format"].is_object()) {
    tool.format = function["format"].to_json();
  }
  for (const json::Value& mark : {value["cache_control"], function["cache_control"]}) {
    if (mark.is_object()) tool.cache_control = mark.to_json();
  }
  MILLRACE_TRY(read_flag(function["strict"], "tools[].strict", tool.strict));
  read_tool_members(value, type.value_or("function"), tool);
  if (schema.is_object()) {
    MILLRACE_TRY(set_schema(tool, schema));
  } else {
    tool.parameters = tool.takes_text ? text_schema : empty_schema;
  }
  return tool;
}

}  // namespace

FurtherMembers further_members(const json::Value& object,
                               std::initializer_list<std::string_view> known) {
  FurtherMembers out;
  json::each_further(object, known, [&](const json::Member& member) {
    out.emplace_back(member.key, member.value.to_json());
  });
  return out;
}

Result<void> read_flag(const json::Value& value, std::string_view member,
                       std::optional<bool>& out) {
  if (value.is_nothing()) return {};
  const bool is_flag = value.is(json::Type::boolean_true) || value.is(json::Type::boolean_false);
  if (!is_flag) return invalid_member(member, "must be true or false", value);
  out = value.is_true();
  return {};
}

Result<void> read_tools(const json::Value& tools, ChatPayload& payload) {
  if (tools.is_nothing()) return {};
  if (!tools.is_array()) {
    return invalid_member("tools", "must be an array of { type: 'function', function: { name } }",
                          tools);
  }
  MILLRACE_TRY(message::check_tool_count(tools));
  // Lists that are put together may have a tool from each of their sources.
  std::unordered_map<std::string, json::Value> named;
  for (const json::Value value : tools.items()) {
    auto tool = read_tool(value);
    if (!tool) return std::move(tool).error();
    const std::string& name = tool.value().name;
    if (!name.empty()) {
      const auto [first, is_new] = named.try_emplace(name, value);
      if (!is_new && first->second.to_json() == value.to_json()) continue;
      if (!is_new)
        return invalid_member("tools", "has \"" + name + "\" twice; rename one of the two");
    }
    payload.tools.push_back(std::move(tool).value());
  }
  return {};
}

namespace {

// Cohere writes its words in capitals.
std::string lower_case(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace

Result<void> read_tool_choice(const json::Value& choice, ToolChoice& out) {
  using Kind = ToolChoice::Kind;
  if (choice.is_nothing()) return {};
  struct Word {
    std::string_view name;
    Kind kind;
  };
  constexpr std::array words{Word{"none", Kind::none}, Word{"auto", Kind::any_or_none},
                             Word{"required", Kind::required}, Word{"any", Kind::required}};
  const std::string_view word = choice.is_string() ? choice.string() : choice["type"].string();
  constexpr std::array<std::string_view, 4> kinds{"", "function", "custom", "tool"};
  const bool is_named = std::find(kinds.begin(), kinds.end(), word) != kinds.end();
  const auto name = inside(choice, word.empty() ? "function" : word)["name"].filled_string();
  const std::string_view type = word.empty() ? "function" : word;
  out.extra = further_members(choice, {"type", "name", type, "disable_parallel_tool_use"});
  if (is_named && name) {
    out.kind = Kind::tool;
    out.name = *name;
    out.inner_extra = further_members(choice[type], {"name"});
    return {};
  }
  const auto* row =
      std::find_if(words.begin(), words.end(),
                   [&, lower = lower_case(word)](const Word& w) { return w.name == lower; });
  if (row == words.end() && !is_named && choice.is_object()) {
    out.raw = choice.to_json();
    out.extra.clear();
    return {};
  }
  if (row == words.end()) {
    return invalid_member(
        "tool_choice",
        "must be \"none\", \"auto\", \"required\" or { type: 'function', function: { "
        "name } }",
        choice);
  }
  out.kind = row->kind;
  return {};
}

}  // namespace millrace::model
