#include "model/schema/fitted_schema.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"
#include "message/json_builder.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

// The values of these are data, also where they look like a schema.
constexpr std::array<std::string_view, 4> data_keywords{"const", "enum", "default", "examples"};
// Names of the user's, and a schema for each.
constexpr std::array<std::string_view, 5> name_maps{"properties", "patternProperties", "$defs",
                                                    "definitions", "dependentSchemas"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool looks_around(std::string_view pattern) {
  constexpr std::array<std::string_view, 4> marks{"(?=", "(?!", "(?<=", "(?<!"};
  return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) {
    return pattern.find(mark) != std::string_view::npos;
  });
}

bool may_hold(std::string_view schema_json, std::string_view word, bool is_looked_for) {
  return is_looked_for && schema_json.find(word) != std::string_view::npos;
}

class SchemaFitter {
 public:
  explicit SchemaFitter(const SchemaRules& rules) : rules_(rules) {}

  // A schema, with this type unless it has one.
  void write(JsonBuilder& out, const Value& schema, const Value& type = {}) {
    out.open_object();
    write_members(out, schema, type);
    out.close_object();
  }

  [[nodiscard]] std::size_t patterns_left_out() const { return patterns_left_out_; }

 private:
  void write_members(JsonBuilder& out, const Value& schema, const Value& type) {
    const bool has_type = schema["type"].exists() || schema["$ref"].exists();
    const bool by_branch = rules_.type_in_branches && schema["anyOf"].is_array();
    if (!has_type && !by_branch && type.exists()) out.value("type", type);
    for (const auto& [key, value] : schema.members()) {
      if (key == "type" && by_branch) continue;
      if (key == "anyOf" && by_branch) {
        write_list(out, key, value, has_type ? schema["type"] : type);
      } else {
        write_member(out, schema, key, value);
      }
    }
  }

  void write_member(JsonBuilder& out, const Value& schema, std::string_view key,
                    const Value& value) {
    const bool has_tuple = rules_.prefix_items && schema["items"].is_array();
    if (key == "pattern" && rules_.no_lookaround && looks_around(value.string())) {
      ++patterns_left_out_;
    } else if (key == "const" && rules_.const_as_enum) {
      out.open_array("enum");
      out.value(value);
      out.close_array();
    } else if (key == "enum" && rules_.const_as_enum && schema["const"].exists()) {
      return;  // the one value is narrower
    } else if (key == "prefixItems" && has_tuple) {
      return;  // it is written with the others
    } else if (key == "items" && has_tuple) {
      out.open_array("prefixItems");
      for (const Value item : schema["prefixItems"].items()) write_any(out, item);
      for (const Value item : value.items()) write_any(out, item);
      out.close_array();
    } else if (is_among(data_keywords, key)) {
      out.value(key, value);
    } else if (is_among(name_maps, key) && value.is_object()) {
      out.open_object(key);
      for (const auto& [name, one] : value.members()) write_named(out, name, one);
      out.close_object();
    } else if (value.is_array()) {
      write_list(out, key, value, {});
    } else {
      write_named(out, key, value);
    }
  }

  void write_list(JsonBuilder& out, std::string_view key, const Value& list, const Value& type) {
    out.open_array(key);
    for (const Value one : list.items()) write_any(out, one, type);
    out.close_array();
  }

  void write_any(JsonBuilder& out, const Value& value, const Value& type = {}) {
    if (value.is_object()) return write(out, value, type);
    out.value(value);
  }

  void write_named(JsonBuilder& out, std::string_view key, const Value& value) {
    if (!value.is_object()) return out.value(key, value);
    out.open_object(key);
    write_members(out, value, {});
    out.close_object();
  }

  const SchemaRules& rules_;
  std::size_t patterns_left_out_ = 0;
};

}  // namespace

FittedSchema fitted_schema(std::string_view schema_json, const SchemaRules& rules) {
  const bool is_affected = may_hold(schema_json, R"("const")", rules.const_as_enum) ||
                           may_hold(schema_json, "(?", rules.no_lookaround) ||
                           may_hold(schema_json, R"("items")", rules.prefix_items) ||
                           may_hold(schema_json, R"("anyOf")", rules.type_in_branches);
  if (!is_affected) return {std::string(schema_json), 0};
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(schema_json);
  if (!parsed || !parsed.value().is_object()) return {std::string(schema_json), 0};
  SchemaFitter fitter(rules);
  JsonBuilder out(json::Surrogates::keep);
  fitter.write(out, parsed.value());
  return {out.take(), fitter.patterns_left_out()};
}

}  // namespace millrace::model
