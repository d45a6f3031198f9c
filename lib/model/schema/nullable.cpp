#include "model/schema/nullable.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "model/schema/schema_types.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

// One schema, or a list of them.
constexpr std::array<std::string_view, 14> schema_keywords = {"items",
                                                              "additionalProperties",
                                                              "additionalItems",
                                                              "prefixItems",
                                                              "anyOf",
                                                              "oneOf",
                                                              "allOf",
                                                              "not",
                                                              "if",
                                                              "then",
                                                              "else",
                                                              "contains",
                                                              "propertyNames",
                                                              "unevaluatedProperties"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string rewritten(const Value& schema, bool is_root);

void write_null_type(JsonBuilder& out, const Value& schema) {
  out.open_array("type");
  for (const std::string_view type : types_of(schema)) out.text(type);
  out.text("null");
  out.close_array();
}

void write_keyword(JsonBuilder& out, std::string_view key, const Value& value) {
  if (is_one_of(schema_maps, key) && value.is_object()) {
    out.open_object(key);
    for (const auto& [name, one] : value.members()) out.raw(name, rewritten(one, false));
    out.close_object();
  } else if (is_one_of(schema_keywords, key) && value.is_array()) {
    out.open_array(key);
    for (const Value one : value.items()) out.raw(rewritten(one, false));
    out.close_array();
  } else if (is_one_of(schema_keywords, key)) {
    out.raw(key, rewritten(value, false));
  } else {
    out.value(key, value);
  }
}

std::string rewritten(const Value& schema, bool is_root) {
  if (!schema.is_object()) return schema.to_json();
  const bool says = schema["type"].exists() || schema["enum"].exists() ||
                    schema["const"].exists() || schema["$ref"].exists() ||
                    schema["anyOf"].exists() || schema["oneOf"].exists() ||
                    schema["allOf"].exists();
  const bool adds_null = !is_root && says && schema["nullable"].is_true() && !accepts_null(schema);
  const bool by_type = adds_null && schema["type"].exists() && types_of_values(schema).empty() &&
                       !schema["anyOf"].exists() && !schema["oneOf"].exists() &&
                       !schema["allOf"].exists() && !schema["$ref"].exists();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  for (const auto& [key, value] : schema.members()) {
    if (key == "nullable" && value.is_true()) continue;
    if (key == "type" && by_type) {
      write_null_type(out, schema);
    } else {
      write_keyword(out, key, value);
    }
  }
  out.close_object();
  std::string one = out.take();
  if (!adds_null || by_type) return one;
  return R"({"anyOf":[)" + one + R"(,{"type":"null"}]})";
}

}  // namespace

Result<std::string> with_null_types(std::string schema_json) {
  if (schema_json.find(R"("nullable":true)") == std::string::npos) return schema_json;
  json::Document document(message::depth_limit);
  auto parsed = document.parse(schema_json);
  if (!parsed) return std::move(parsed).error();
  return rewritten(parsed.value(), true);
}

}  // namespace millrace::model
