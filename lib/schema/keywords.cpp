#include "schema/keywords.hpp"

#include <array>

#include "schema/keyword_functions.hpp"

namespace millrace::schema {
namespace {

constexpr std::array<Keyword, 42> table = {{
    {"$ref", Applies::any, read_reference, holds_reference},
    {"$dynamicRef", Applies::any, read_reference, holds_dynamic_reference},
    {"$defs", Applies::any, read_schema_map, nullptr},
    {"definitions", Applies::any, read_schema_map, nullptr},
    {"type", Applies::any, read_type, holds_type},
    {"enum", Applies::any, read_values, holds_enum},
    {"const", Applies::any, read_value, holds_const},
    {"allOf", Applies::any, read_schemas, holds_all},
    {"anyOf", Applies::any, read_schemas, holds_any},
    {"oneOf", Applies::any, read_schemas, holds_one},
    {"not", Applies::any, read_schema, holds_not},
    {"if", Applies::any, read_condition, holds_condition},
    {"then", Applies::any, read_schema, nullptr},
    {"else", Applies::any, read_schema, nullptr},
    {"multipleOf", Applies::number, read_number, holds_multiple},
    {"minimum", Applies::number, read_bound, holds_minimum},
    {"maximum", Applies::number, read_bound, holds_maximum},
    {"exclusiveMinimum", Applies::number, read_number, holds_above},
    {"exclusiveMaximum", Applies::number, read_number, holds_below},
    {"minLength", Applies::string, read_least, holds_min_length},
    {"maxLength", Applies::string, read_most, holds_max_length},
    {"pattern", Applies::string, read_pattern, holds_pattern},
    {"format", Applies::string, read_value, holds_format},
    {"minItems", Applies::array, read_least, holds_min_items},
    {"maxItems", Applies::array, read_most, holds_max_items},
    {"uniqueItems", Applies::array, read_nothing, holds_unique},
    {"prefixItems", Applies::array, read_schemas, holds_prefix},
    {"items", Applies::array, read_items, holds_items},
    {"additionalItems", Applies::array, read_additional_items, holds_additional_items},
    {"contains", Applies::array, read_contains, holds_contains},
    {"unevaluatedItems", Applies::array, read_unevaluated, holds_unevaluated_items, true},
    {"minProperties", Applies::object, read_least, holds_min_properties},
    {"maxProperties", Applies::object, read_most, holds_max_properties},
    {"required", Applies::object, read_names, holds_required},
    {"dependentRequired", Applies::object, read_name_lists, holds_dependent_required},
    {"dependentSchemas", Applies::object, read_schema_map, holds_dependent_schemas},
    {"dependencies", Applies::object, read_dependencies, holds_dependencies},
    {"properties", Applies::object, read_schema_map, holds_properties},
    {"patternProperties", Applies::object, read_pattern_map, holds_pattern_properties},
    {"additionalProperties", Applies::object, read_additional_properties,
     holds_additional_properties},
    {"propertyNames", Applies::object, read_schema, holds_property_names},
    {"unevaluatedProperties", Applies::object, read_unevaluated, holds_unevaluated_properties,
     true},
}};

}  // namespace

const Keyword* find_keyword(std::string_view name) {
  for (const Keyword& keyword : table) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

}  // namespace millrace::schema
