#include "model/schema/schema_types.hpp"

#include <algorithm>

namespace millrace::model {
namespace {

using json::Value;
using Names = std::vector<std::string_view>;

bool has_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view type_of_value(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_string()) return "string";
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (!value.is_number()) return "boolean";
  return value.number_text().find_first_of(".eE") == std::string_view::npos ? "integer" : "number";
}

}  // namespace

Names types_of_values(const Value& schema) {
  Names types;
  const auto add = [&](const Value& value) {
    const std::string_view type = type_of_value(value);
    if (!has_name(types, type)) types.push_back(type);
  };
  if (schema["const"].exists()) {
    add(schema["const"]);
    return types;
  }
  for (const Value value : schema["enum"].items()) add(value);
  // Integers are numbers.
  if (has_name(types, "number")) std::erase(types, "integer");
  return types;
}

Names types_of(const Value& schema) {
  const Value type = schema["type"];
  if (type.is_string()) return {type.string()};
  Names types;
  for (const Value one : type.items()) types.push_back(one.string());
  if (types.empty()) types = types_of_values(schema);
  if (types.empty() && schema["properties"].is_object()) types.emplace_back("object");
  if (types.empty() && schema["items"].exists()) types.emplace_back("array");
  return types;
}

bool is_null_schema(const Value& schema) {
  return schema["type"].string() == "null" ||
         (schema["const"].exists() && schema["const"].is_null());
}

bool accepts_null(const Value& schema) {
  if (is_null_schema(schema)) return true;
  const Names values = types_of_values(schema);
  if (!values.empty() && !has_name(values, "null")) return false;
  if (has_name(types_of(schema), "null")) return true;
  for (const std::string_view key : {"anyOf", "oneOf"}) {
    for (const Value branch : schema[key].items()) {
      if (accepts_null(branch)) return true;
    }
  }
  return false;
}

bool is_object_schema(const Value& schema) {
  return has_name(types_of(schema), "object") || schema["properties"].is_object();
}

}  // namespace millrace::model
