// How the argument of each keyword is read.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "schema/compile.hpp"
#include "schema/keyword_functions.hpp"
#include "schema/keywords.hpp"
#include "schema/uri.hpp"

namespace millrace::schema {

using json::Value;

namespace {

Error rejected(const Check& check, const Scope& scope, std::string_view what) {
  return schema_error(scope.pointer, check.keyword->name, what);
}

std::string step_of(const Check& check) {
  return pointer_step(check.keyword->name);
}

}  // namespace

Result<void> read_nothing(Compiler&, Check&, const Scope&) {
  return {};
}

Result<void> read_schema(Compiler& compiler, Check& check, const Scope& scope) {
  auto node = compiler.child(scope, check.value, step_of(check));
  if (!node) return std::move(node).error();
  check.nodes.push_back(node.value());
  return {};
}

Result<void> read_schemas(Compiler& compiler, Check& check, const Scope& scope) {
  if (!check.value.is_array() || check.value.size() == 0) {
    return rejected(check, scope, "must be a list of schemas");
  }
  std::size_t index = 0;
  for (const Value schema : check.value.items()) {
    auto node = compiler.child(scope, schema, step_of(check) + "/" + std::to_string(index++));
    if (!node) return std::move(node).error();
    check.nodes.push_back(node.value());
  }
  return {};
}

Result<void> read_schema_map(Compiler& compiler, Check& check, const Scope& scope) {
  if (!check.value.is_object()) return rejected(check, scope, "must be an object of schemas");
  for (const auto& [key, schema] : check.value.members()) {
    auto node = compiler.child(scope, schema, step_of(check) + "/" + pointer_step(key));
    if (!node) return std::move(node).error();
    check.names.emplace_back(key);
    check.nodes.push_back(node.value());
  }
  return {};
}

Result<void> read_pattern_map(Compiler& compiler, Check& check, const Scope& scope) {
  MILLRACE_TRY(read_schema_map(compiler, check, scope));
  for (const std::string& source : check.names) {
    auto pattern = Pattern::compile(source);
    if (!pattern) return std::move(pattern).error();
    check.patterns.push_back(std::move(pattern).value());
  }
  return {};
}

Result<void> read_number(Compiler&, Check& check, const Scope& scope) {
  // Draft 4 said with a boolean that the bound itself is out: read by the bound.
  const bool flag = check.value.is_true() || check.value.is(json::Type::boolean_false);
  if (flag && check.keyword->name.starts_with("exclusive")) return {};
  if (!check.value.is_number()) return rejected(check, scope, "must be a number");
  check.number = read_decimal(check.value.number_text());
  if (check.keyword->name == "multipleOf" && (check.number.negative || check.number.is_zero())) {
    return rejected(check, scope, "must be above 0");
  }
  return {};
}

// minimum and maximum, whose exclusive forms may be booleans.
Result<void> read_bound(Compiler& compiler, Check& check, const Scope& scope) {
  const bool low = check.keyword->name == "minimum";
  check.least = scope.schema[low ? "exclusiveMinimum" : "exclusiveMaximum"].is_true() ? 1 : 0;
  return read_number(compiler, check, scope);
}

namespace {

Result<std::size_t> count_of(const Check& check, const Scope& scope, const Value& value) {
  const auto count = value.is_number() ? read_decimal(value.number_text()).count() : std::nullopt;
  if (!count) return rejected(check, scope, "must be a whole number from 0 up");
  return *count;
}

}  // namespace

Result<void> read_least(Compiler&, Check& check, const Scope& scope) {
  auto count = count_of(check, scope, check.value);
  if (!count) return std::move(count).error();
  check.least = count.value();
  return {};
}

Result<void> read_most(Compiler&, Check& check, const Scope& scope) {
  auto count = count_of(check, scope, check.value);
  if (!count) return std::move(count).error();
  check.most = count.value();
  return {};
}

Result<void> read_names(Compiler&, Check& check, const Scope& scope) {
  // Draft 3 and OpenAPI put a boolean here.
  if (!check.value.is_array()) return rejected(check, scope, "must be a list of names");
  for (const Value name : check.value.items()) {
    if (!name.is_string()) return rejected(check, scope, "must be a list of names");
    check.names.emplace_back(name.string());
  }
  return {};
}

Result<void> read_name_lists(Compiler&, Check& check, const Scope& scope) {
  if (!check.value.is_object()) return rejected(check, scope, "must be an object of lists");
  for (const auto& [key, list] : check.value.members()) {
    if (!list.is_array()) return rejected(check, scope, "must be an object of lists");
  }
  return {};
}

// Each member is a list of names or a schema.
Result<void> read_dependencies(Compiler& compiler, Check& check, const Scope& scope) {
  if (!check.value.is_object()) return rejected(check, scope, "must be an object");
  for (const auto& [key, demand] : check.value.members()) {
    if (demand.is_array()) continue;
    auto node = compiler.child(scope, demand, step_of(check) + "/" + pointer_step(key));
    if (!node) return std::move(node).error();
    check.names.emplace_back(key);
    check.nodes.push_back(node.value());
  }
  return {};
}

Result<void> read_value(Compiler&, Check& check, const Scope&) {
  append_canonical(check.names.emplace_back(), check.value);
  return {};
}

Result<void> read_values(Compiler&, Check& check, const Scope& scope) {
  if (!check.value.is_array()) return rejected(check, scope, "must be a list of values");
  for (const Value value : check.value.items()) append_canonical(check.names.emplace_back(), value);
  return {};
}

Result<void> read_pattern(Compiler&, Check& check, const Scope& scope) {
  if (!check.value.is_string()) return rejected(check, scope, "must be a regular expression");
  auto pattern = Pattern::compile(check.value.string());
  if (!pattern) return std::move(pattern).error();
  check.patterns.push_back(std::move(pattern).value());
  return {};
}

namespace {

constexpr std::array<std::string_view, 7> type_names = {"null",   "boolean", "integer", "number",
                                                        "string", "array",   "object"};

}  // namespace

Result<void> read_type(Compiler&, Check& check, const Scope& scope) {
  if (check.value.is_string()) check.names.emplace_back(check.value.string());
  for (const Value name : check.value.items()) check.names.emplace_back(name.string());
  for (const std::string& name : check.names) {
    if (std::find(type_names.begin(), type_names.end(), name) == type_names.end()) {
      return rejected(check, scope, "names the type \"" + name + "\", which JSON does not have");
    }
  }
  if (check.names.empty()) return rejected(check, scope, "must name one type or several");
  return {};
}

Result<void> read_reference(Compiler& compiler, Check& check, const Scope& scope) {
  if (!check.value.is_string()) return rejected(check, scope, "must be a reference");
  compiler.refer(scope, check.value.string());
  return {};
}

// What `properties` and `patternProperties` beside the keyword cover.
Result<void> read_additional_properties(Compiler& compiler, Check& check, const Scope& scope) {
  MILLRACE_TRY(read_schema(compiler, check, scope));
  for (const auto& [key, schema] : scope.schema["properties"].members()) {
    check.names.emplace_back(key);
  }
  for (const auto& [key, schema] : scope.schema["patternProperties"].members()) {
    auto pattern = Pattern::compile(key);
    if (!pattern) return std::move(pattern).error();
    check.patterns.push_back(std::move(pattern).value());
  }
  return {};
}

// One schema for all items behind prefixItems; or a list, as before draft 2020-12.
Result<void> read_items(Compiler& compiler, Check& check, const Scope& scope) {
  check.least = scope.schema["prefixItems"].size();
  if (!check.value.is_array()) return read_schema(compiler, check, scope);
  check.most = check.value.size();
  if (check.most == 0) return {};
  return read_schemas(compiler, check, scope);
}

Result<void> read_additional_items(Compiler& compiler, Check& check, const Scope& scope) {
  // Says nothing unless `items` is a list.
  check.least = scope.schema["items"].is_array() ? scope.schema["items"].size() : no_limit;
  return read_schema(compiler, check, scope);
}

Result<void> read_contains(Compiler& compiler, Check& check, const Scope& scope) {
  MILLRACE_TRY(read_schema(compiler, check, scope));
  check.least = 1;
  if (const Value least = scope.schema["minContains"]) {
    auto count = count_of(check, scope, least);
    if (!count) return std::move(count).error();
    check.least = count.value();
  }
  if (const Value most = scope.schema["maxContains"]) {
    auto count = count_of(check, scope, most);
    if (!count) return std::move(count).error();
    check.most = count.value();
  }
  return {};
}

Result<void> read_condition(Compiler& compiler, Check& check, const Scope& scope) {
  MILLRACE_TRY(read_schema(compiler, check, scope));
  for (const std::string_view branch : {"then", "else"}) {
    const Value schema = scope.schema[branch];
    if (!schema) {
      check.nodes.push_back(no_node);
      continue;
    }
    auto node = compiler.child(scope, schema, branch);
    if (!node) return std::move(node).error();
    check.nodes.push_back(node.value());
  }
  return {};
}

Result<void> read_unevaluated(Compiler& compiler, Check& check, const Scope& scope) {
  compiler.program().tracks_evaluated = true;
  return read_schema(compiler, check, scope);
}

}  // namespace millrace::schema
