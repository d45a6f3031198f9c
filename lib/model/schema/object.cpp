#include "model/schema/object.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/name_character.hpp"
#include "base/shown.hpp"
#include "message/json_builder.hpp"
#include "model/body/answer_schema.hpp"
#include "model/body/bedrock_makers.hpp"
#include "model/body/claude.hpp"
#include "model/provider/families.hpp"
#include "model/schema/nullable.hpp"
#include "model/schema/object_schema.hpp"
#include "schema/schema.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

constexpr std::string_view default_name = "answer";
constexpr std::size_t name_limit = 64;

// How a dialect is asked, best first.
struct ModeRow {
  Dialect dialect;
  bool schema;  // knows constrained decoding
  SchemaStyle style;
  bool forces_tools = true;  // the model can be made to call one
};
constexpr std::array<ModeRow, 9> modes = {{
    {Dialect::openai_chat, true, SchemaStyle::strict},
    {Dialect::openai_responses, true, SchemaStyle::strict},
    {Dialect::anthropic, true, SchemaStyle::closed},
    {Dialect::vertex_anthropic, false, SchemaStyle::plain},
    {Dialect::gemini, true, SchemaStyle::gemini},
    {Dialect::vertex_gemini, true, SchemaStyle::gemini},
    {Dialect::ollama, true, SchemaStyle::plain},
    {Dialect::bedrock_converse, false, SchemaStyle::closed},
    {Dialect::cohere, true, SchemaStyle::plain},
}};

ModeRow mode_of(const ProviderConfig& config, std::string_view model) {
  ModeRow row{config.provider->dialect, false, SchemaStyle::plain};
  for (const ModeRow& one : modes) {
    if (one.dialect == config.provider->dialect) row = one;
  }
  const Traits traits = traits_of(model);
  if (row.dialect == Dialect::anthropic) row.schema = claude_takes_schemas(config, traits);
  const bool rejects_demands =
      config.quirks.has(Quirk::tool_choice_auto_only) || config.quirks.has(Quirk::no_tools);
  row.forces_tools = !traits.has(Trait::no_demands) && !rejects_demands;
  if (row.dialect == Dialect::bedrock_converse) {
    const BedrockMaker& maker = bedrock_maker(model, {});
    row.forces_tools = row.forces_tools && maker.demand != BedrockDemand::none;
    row.schema = !row.forces_tools && bedrock_takes_schemas(maker, traits);
  }
  row.schema = row.schema && takes_json_schema(config, model);
  return row;
}

// A name that every vendor takes: letters, digits, `_` and `-`.
std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, name_limit)) {
    out.push_back(is_name_character(c) ? c : '_');
  }
  return out.empty() ? std::string(default_name) : out;
}

// Only objects may stand at the root of a vendor's schema or of a tool's arguments.
bool needs_wrapping(const Value& schema) {
  if (schema["anyOf"].exists() || schema["oneOf"].exists() || schema["$ref"].exists()) return true;
  return schema["type"].string() != "object" && !schema["properties"].is_object();
}

// { value: <schema> } with the definitions at the root, where references look for them.
std::string wrapped_schema(const Value& schema) {
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("type", "object");
  for (const std::string_view key : {"$schema", "$defs", "definitions"}) {
    if (schema[key].exists()) out.value(key, schema[key]);
  }
  out.open_object("properties");
  out.open_object("value");
  for (const auto& [key, value] : schema.members()) {
    if (key != "$schema" && key != "$defs" && key != "definitions") out.value(key, value);
  }
  out.close_object();
  out.close_object();
  out.open_array("required");
  out.text("value");
  out.close_array();
  out.flag("additionalProperties", false);
  out.close_object();
  return out.take();
}

struct Plan {
  std::string mode;
  std::string name;
  std::string description;
  std::string schema;  // as it is sent
  bool strict = false;
};

void write_response_format(JsonBuilder& out, const Plan& plan) {
  out.open_object("response_format");
  if (plan.mode == "json") {
    out.text("type", "json_object");
  } else {
    out.text("type", "json_schema");
    out.open_object("json_schema");
    out.text("name", plan.name);
    out.filled("description", plan.description);
    out.raw("schema", plan.schema);
    out.flag("strict", plan.strict);
    out.close_object();
  }
  out.close_object();
}

void write_tool(JsonBuilder& out, const Plan& plan) {
  out.open_array("tools");
  out.open_object();
  out.text("type", "function");
  out.open_object("function");
  out.text("name", plan.name);
  out.text("description", plan.description.empty() ? "Gives the answer." : plan.description);
  out.raw("parameters", plan.schema);
  out.close_object();
  out.close_object();
  out.close_array();
  out.open_object("tool_choice");
  out.text("type", "function");
  out.open_object("function");
  out.text("name", plan.name);
  out.close_object();
  out.close_object();
}

// Chooses the mode, and the schema as that mode sends it.
Result<void> choose(Plan& plan, const ModeRow& row, std::string_view wanted,
                    const std::string& schema) {
  constexpr std::array<std::string_view, 5> known = {"", "auto", "schema", "tool", "json"};
  if (std::find(known.begin(), known.end(), wanted) == known.end()) {
    return make_error(Errc::invalid_option,
                      "`mode` must be auto, schema, tool or json, not " + shown_text(wanted) + ".");
  }
  plan.schema = schema;
  const bool free = wanted.empty() || wanted == "auto";
  const std::string_view without_schema = row.forces_tools ? "tool" : "json";
  plan.mode = free ? (row.schema ? "schema" : without_schema) : wanted;
  if (plan.mode != "schema") return {};
  auto styled = styled_schema(schema, row.style);
  if (!styled) return std::move(styled).error();
  const bool strict_style = row.style == SchemaStyle::strict;
  if (styled.value()) {
    plan.strict = plan.strict && strict_style;
    if (plan.strict || !strict_style) plan.schema = *styled.value();
  } else if (strict_style) {
    plan.strict = false;
  } else if (free) {
    plan.mode = without_schema;
  }
  return {};
}

// --- the answer
// ------------------------------------------------------------------------------------

// The part of the text that may be JSON.
std::vector<std::string_view> candidates(std::string_view text) {
  text = json::trim(text);
  std::vector<std::string_view> found{text};
  const std::size_t fence = text.find("```");
  if (fence != std::string_view::npos) {
    const std::size_t line = text.find('\n', fence);
    const std::size_t end = line == std::string_view::npos ? line : text.find("```", line);
    if (end != std::string_view::npos) found.push_back(text.substr(line, end - line));
  }
  const std::size_t first = text.find_first_of("{[");
  const std::size_t last = text.find_last_of("}]");
  if (first != std::string_view::npos && last != std::string_view::npos && last > first) {
    found.push_back(text.substr(first, last - first + 1));
  }
  return found;
}

std::optional<Value> read_answer(json::Document& document, std::string_view text) {
  for (const std::string_view candidate : candidates(text)) {
    auto parsed = document.parse(candidate);
    if (parsed) return parsed.value();
  }
  return std::nullopt;
}

// The value again without the members at `paths` that are null.
void write_without(JsonBuilder& out, const Value& value, std::string& path,
                   const std::vector<std::string>& paths) {
  const std::size_t size = path.size();
  if (value.is_object()) {
    out.open_object();
    for (const auto& [key, member] : value.members()) {
      path.push_back('/');
      for (const char c : key) path.append(c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c));
      const bool drop =
          member.is_null() && std::find(paths.begin(), paths.end(), path) != paths.end();
      if (!drop) {
        JsonBuilder inner(json::Surrogates::keep);
        write_without(inner, member, path, paths);
        out.raw(key, inner.take());
      }
      path.resize(size);
    }
    out.close_object();
  } else if (value.is_array()) {
    out.open_array();
    std::size_t index = 0;
    for (const Value item : value.items()) {
      path.append("/").append(std::to_string(index++));
      JsonBuilder inner(json::Surrogates::keep);
      write_without(inner, item, path, paths);
      out.raw(inner.take());
      path.resize(size);
    }
    out.close_array();
  } else {
    out.value(value);
  }
}

struct Checked {
  std::string json;
  std::string problems;
  std::string format_problems = {};  // worth a repair, but no reason to refuse the answer
};

// The value without the members that a dialect which knows no optional members made the model
// write as null, if there are such.
Result<std::optional<std::string>> without_nulls(const schema::Schema& schema, const Value& value) {
  std::vector<std::string> paths;
  schema::Limits leaving_out;
  leaving_out.left_out = &paths;
  auto violations = schema.validate(value, leaving_out);
  if (!violations) return std::move(violations).error();
  if (paths.empty()) return std::optional<std::string>();
  JsonBuilder out(json::Surrogates::keep);
  std::string path;
  write_without(out, value, path, paths);
  return std::optional(out.take());
}

Result<Checked> check(const schema::Schema& schema, std::string json) {
  json::Document document(message::depth_limit);
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  auto violations = schema.validate(parsed.value());
  if (!violations) return std::move(violations).error();
  if (!violations.value().empty()) {
    auto shorter = without_nulls(schema, parsed.value());
    if (!shorter) return std::move(shorter).error();
    if (shorter.value()) return check(schema, std::move(*shorter.value()));
    return Checked{std::move(json), schema::describe(violations.value())};
  }
  schema::Limits with_formats;
  with_formats.formats = true;
  const auto formats = schema.validate(parsed.value(), with_formats);
  std::string problems = formats ? schema::describe(formats.value()) : std::string();
  return Checked{std::move(json), {}, std::move(problems)};
}

std::string verdict_of(std::string_view answer, const Checked& checked) {
  const std::string& problems =
      checked.problems.empty() ? checked.format_problems : checked.problems;
  JsonBuilder out(json::Surrogates::keep);
  out.open_object();
  if (checked.problems.empty()) out.raw("object", checked.json);
  if (!problems.empty()) {
    out.text("problems", problems);
    out.open_array("repair");
    out.open_object();
    out.text("role", "assistant");
    out.text("content", answer.empty() ? "(no answer)" : answer);
    out.close_object();
    out.open_object();
    out.text("role", "user");
    out.text("content", "That answer cannot be used:\n" + problems +
                            "\nGive the whole answer again, corrected, as JSON that follows the "
                            "schema.");
    out.close_object();
    out.close_array();
  }
  out.close_object();
  return out.take();
}

}  // namespace

Result<std::string> plan_object(const ProviderConfig& config, std::string_view request_json) {
  json::Document document(message::depth_limit);
  auto parsed = document.parse(request_json);
  if (!parsed) return std::move(parsed).error();
  const Value request = parsed.value();
  const Value schema = request["schema"];
  if (!schema.is_object()) {
    return make_error(
        Errc::invalid_body,
        "`schema` must be a JSON Schema, which is an object, not " + shown_value(schema) + ".");
  }
  const bool wrapped = needs_wrapping(schema);
  auto received = with_null_types(wrapped ? wrapped_schema(schema) : schema.to_json());
  if (!received) return std::move(received).error();
  const std::string whole = std::move(received).value();
  // Nobody pays for an answer that cannot be held to its schema.
  if (request["validate"].is_true()) {
    // As it was given first: an error names places of the caller's schema.
    if (wrapped) MILLRACE_TRY(schema::Schema::compile(schema.to_json()));
    MILLRACE_TRY(schema::Schema::compile(whole));
  }
  Plan plan;
  plan.name = plain_name(request["name"].string());
  plan.description = request["description"].string();
  plan.strict = !request["strict"].is(json::Type::boolean_false);
  const ModeRow row = mode_of(config, request["model"].string());
  MILLRACE_TRY(choose(plan, row, request["mode"].string(), whole));

  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("mode", plan.mode);
  out.text("name", plan.name);
  out.flag("wrapped", wrapped);
  out.flag("strict", plan.mode == "schema" && plan.strict);
  out.raw("schema", whole);
  out.open_object("payload");
  if (plan.mode == "tool")
    write_tool(out, plan);
  else
    write_response_format(out, plan);
  out.close_object();
  if (plan.mode == "json") out.text("instruction", schema_instruction(plan.schema));
  out.close_object();
  return out.take();
}

Result<std::string> judge_object(std::string_view plan_json, std::string_view answer,
                                 bool validate) {
  json::Document plan_document(message::depth_limit);
  auto plan = plan_document.parse(plan_json);
  if (!plan) return std::move(plan).error();
  json::Document document(message::depth_limit);
  const auto value = read_answer(document, answer);
  if (!value) return verdict_of(answer, {{}, "it is not valid JSON"});
  const bool wrapped = plan.value()["wrapped"].is_true();
  std::string json = value->to_json(json::Surrogates::keep);
  // Some models give the bare value all the same.
  if (wrapped && (!value->is_object() || !(*value)["value"].exists())) {
    json = "{\"value\":" + json + "}";
  }
  auto schema = schema::Schema::compile(plan.value()["schema"].to_json(json::Surrogates::keep));
  if (!schema && validate) return std::move(schema).error();
  Checked checked{json, {}};
  if (schema) {
    auto result = check(schema.value(), std::move(json));
    if (!result && validate) return std::move(result).error();
    if (result) checked = std::move(result).value();
    if (!validate) checked.problems.clear();
    if (!validate) checked.format_problems.clear();
  }
  if (wrapped && checked.problems.empty()) {
    json::Document inner(message::depth_limit);
    auto object = inner.parse(checked.json);
    if (!object) return std::move(object).error();
    checked.json = object.value()["value"].to_json(json::Surrogates::keep);
  }
  return verdict_of(answer, checked);
}

}  // namespace millrace::model
