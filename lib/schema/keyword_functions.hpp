// The functions of the table of keywords. Private to this room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "schema/program.hpp"

namespace millrace::schema {

class Compiler;
class Evaluation;
struct Evaluated;
struct Scope;

// Reads the argument of a keyword, check.value.
using Read = Result<void>(Compiler& compiler, Check& check, const Scope& scope);
Read read_reference;
Read read_schema;
Read read_schema_map;
Read read_type;
Read read_values;
Read read_value;
Read read_schemas;
Read read_condition;
Read read_number;
Read read_bound;
Read read_least;
Read read_most;
Read read_pattern;
Read read_nothing;
Read read_items;
Read read_additional_items;
Read read_contains;
Read read_unevaluated;
Read read_names;
Read read_name_lists;
Read read_dependencies;
Read read_pattern_map;
Read read_additional_properties;

// Tells whether a value does what a keyword demands, and what it has evaluated.
using Holds = bool(Evaluation& evaluation, const Check& check, const json::Value& value,
                   Evaluated* evaluated);
// Any value, numbers and strings.
Holds holds_reference;
Holds holds_dynamic_reference;
Holds holds_type;
Holds holds_enum;
Holds holds_const;
Holds holds_all;
Holds holds_any;
Holds holds_one;
Holds holds_not;
Holds holds_condition;
Holds holds_multiple;
Holds holds_minimum;
Holds holds_maximum;
Holds holds_above;
Holds holds_below;
Holds holds_min_length;
Holds holds_max_length;
Holds holds_pattern;
Holds holds_format;
// Arrays and objects.
Holds holds_min_items;
Holds holds_max_items;
Holds holds_unique;
Holds holds_prefix;
Holds holds_items;
Holds holds_additional_items;
Holds holds_contains;
Holds holds_unevaluated_items;
Holds holds_min_properties;
Holds holds_max_properties;
Holds holds_required;
Holds holds_dependent_required;
Holds holds_dependent_schemas;
Holds holds_dependencies;
Holds holds_properties;
Holds holds_pattern_properties;
Holds holds_additional_properties;
Holds holds_property_names;
Holds holds_unevaluated_properties;

// "must have at least 3 items": `what` is "least" or "most".
std::string bound(std::string_view what, std::size_t count, std::string_view unit);

}  // namespace millrace::schema
