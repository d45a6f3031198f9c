#include "model/schema/tool_schema.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "message/json_builder.hpp"
#include "model/schema/schema_types.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;

// What a keyword of a schema holds.
enum class Holds { schema, list, map };
struct Keyword {
  std::string_view name;
  Holds holds;
};
constexpr std::array keywords{
    Keyword{"items", Holds::schema},     Keyword{"additionalProperties", Holds::schema},
    Keyword{"prefixItems", Holds::list}, Keyword{"anyOf", Holds::list},
    Keyword{"oneOf", Holds::list},       Keyword{"allOf", Holds::list},
    Keyword{"properties", Holds::map},   Keyword{"$defs", Holds::map},
    Keyword{"definitions", Holds::map}};

void write_schema(JsonBuilder& out, const json::Value& schema);

void write_list(JsonBuilder& out, const json::Value& schemas) {
  for (const json::Value schema : schemas.items()) {
    JsonBuilder one;
    write_schema(one, schema);
    out.raw(one.take());
  }
}

void write_member(JsonBuilder& out, std::string_view key, const json::Value& value) {
  const auto* keyword = std::find_if(keywords.begin(), keywords.end(),
                                     [&](const Keyword& row) { return row.name == key; });
  if (keyword == keywords.end()) {
    if (key != "enum" || !value.is_array() || value.size() > 0) out.value(key, value);
    return;
  }
  const bool is_open = key == "additionalProperties" && !value.is_object();
  if (value.is_array()) {
    out.open_array(key);
    write_list(out, value);
    out.close_array();
  } else if (keyword->holds == Holds::map && value.is_object()) {
    out.open_object(key);
    for (const auto& [name, schema] : value.members()) {
      JsonBuilder one;
      write_schema(one, schema);
      out.raw(name, one.take());
    }
    out.close_object();
  } else if (keyword->holds == Holds::schema && !is_open) {
    JsonBuilder one;
    write_schema(one, value);
    out.raw(key, one.take());
  } else {
    out.value(key, value);
  }
}

void write_schema(JsonBuilder& out, const json::Value& schema) {
  if (!schema.is_object()) {
    const bool is_boolean = schema.is_true() || schema.is(json::Type::boolean_false);
    out.raw(is_boolean ? std::string("{}") : schema.to_json());
    return;
  }
  out.open_object();
  for (const auto& [key, value] : schema.members()) write_member(out, key, value);
  // Schemas that are held to strictly need a type in every place (object_schema.cpp).
  const auto types = schema["type"].exists() ? std::vector<std::string_view>() : types_of(schema);
  if (types.size() == 1) out.text("type", types.front());
  out.close_object();
}

std::string plain(const json::Value& schema) {
  JsonBuilder out;
  write_schema(out, schema);
  return out.take();
}

}  // namespace

Result<RootSchema> tool_schema(const json::Value& schema) {
  if (!needs_one_object(schema)) return RootSchema{plain(schema), {}};
  RootSchema merged = one_object(schema);
  json::Document document(message::depth_limit);
  auto parsed = document.parse(merged.json);
  if (!parsed) return std::move(parsed).error();
  merged.json = plain(parsed.value());
  return merged;
}

}  // namespace millrace::model
