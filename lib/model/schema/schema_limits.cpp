#include "model/schema/schema_limits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "model/schema/schema_types.hpp"

namespace millrace::model {
namespace {

constexpr std::size_t most_unions = 16;
constexpr std::size_t most_optional_members = 24;

// Members of a schema that hold values.
constexpr std::array<std::string_view, 6> value_members{"enum",     "const",    "default",
                                                        "examples", "required", "type"};

struct Count {
  std::size_t unions = 0;
  std::size_t optional_members = 0;
};

template <class Names>
bool has_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_required(const json::Value& schema, std::string_view name) {
  for (const json::Value one : schema["required"].items()) {
    if (one.string() == name) return true;
  }
  return false;
}

void count_in(const json::Value& schema, Count& count) {
  const bool is_union =
      schema["anyOf"].is_array() || schema["oneOf"].is_array() || schema["type"].is_array();
  if (is_union) ++count.unions;
  for (const auto& [name, one] : schema["properties"].members()) {
    if (!is_required(schema, name)) ++count.optional_members;
  }
  for (const auto& [key, value] : schema.members()) {
    if (has_name(value_members, key)) continue;
    if (has_name(schema_maps, key)) {
      for (const auto& [name, one] : value.members()) count_in(one, count);
    } else if (value.is_array()) {
      for (const json::Value one : value.items()) count_in(one, count);
    } else if (value.is_object()) {
      count_in(value, count);
    }
  }
}

}  // namespace

bool is_within_limits(std::string_view schema_json) {
  json::Document document(json::data_depth_limit);
  const auto schema = document.parse(schema_json);
  if (!schema) return true;
  Count count;
  count_in(schema.value(), count);
  return count.unions <= most_unions && count.optional_members <= most_optional_members;
}

}  // namespace millrace::model
