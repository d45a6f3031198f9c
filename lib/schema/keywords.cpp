#include "schema/keywords.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "schema/compile.hpp"
#include "schema/evaluate.hpp"
#include "schema/format.hpp"
#include "schema/uri.hpp"

namespace millrace::schema {
namespace {

using json::Value;

// --- reading arguments
// -----------------------------------------------------------------------------

Error refused(const Check& check, const Scope& scope, std::string_view what) {
  return schema_error(scope.pointer, check.keyword->name, what);
}

std::string step_of(const Check& check) {
  return pointer_step(check.keyword->name);
}

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
    return refused(check, scope, "must be a list of schemas");
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
  if (!check.value.is_object()) return refused(check, scope, "must be an object of schemas");
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
  if (!check.value.is_number()) return refused(check, scope, "must be a number");
  check.number = read_decimal(check.value.number_text());
  if (check.keyword->name == "multipleOf" && (check.number.negative || check.number.is_zero())) {
    return refused(check, scope, "must be above 0");
  }
  return {};
}

// minimum and maximum, whose exclusive forms may be booleans.
Result<void> read_bound(Compiler& compiler, Check& check, const Scope& scope) {
  const bool low = check.keyword->name == "minimum";
  check.least = scope.schema[low ? "exclusiveMinimum" : "exclusiveMaximum"].is_true() ? 1 : 0;
  return read_number(compiler, check, scope);
}

Result<std::size_t> count_of(const Check& check, const Scope& scope, const Value& value) {
  const auto count = value.is_number() ? read_decimal(value.number_text()).count() : std::nullopt;
  if (!count) return refused(check, scope, "must be a whole number from 0 up");
  return *count;
}

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
  if (!check.value.is_array()) return refused(check, scope, "must be a list of names");
  for (const Value name : check.value.items()) {
    if (!name.is_string()) return refused(check, scope, "must be a list of names");
    check.names.emplace_back(name.string());
  }
  return {};
}

Result<void> read_name_lists(Compiler&, Check& check, const Scope& scope) {
  if (!check.value.is_object()) return refused(check, scope, "must be an object of lists");
  for (const auto& [key, list] : check.value.members()) {
    if (!list.is_array()) return refused(check, scope, "must be an object of lists");
  }
  return {};
}

// Each member is a list of names or a schema.
Result<void> read_dependencies(Compiler& compiler, Check& check, const Scope& scope) {
  if (!check.value.is_object()) return refused(check, scope, "must be an object");
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
  if (!check.value.is_array()) return refused(check, scope, "must be a list of values");
  for (const Value value : check.value.items()) append_canonical(check.names.emplace_back(), value);
  return {};
}

Result<void> read_pattern(Compiler&, Check& check, const Scope& scope) {
  if (!check.value.is_string()) return refused(check, scope, "must be a regular expression");
  auto pattern = Pattern::compile(check.value.string());
  if (!pattern) return std::move(pattern).error();
  check.patterns.push_back(std::move(pattern).value());
  return {};
}

constexpr std::array<std::string_view, 7> type_names = {"null",   "boolean", "integer", "number",
                                                        "string", "array",   "object"};

Result<void> read_type(Compiler&, Check& check, const Scope& scope) {
  if (check.value.is_string()) check.names.emplace_back(check.value.string());
  for (const Value name : check.value.items()) check.names.emplace_back(name.string());
  for (const std::string& name : check.names) {
    if (std::find(type_names.begin(), type_names.end(), name) == type_names.end()) {
      return refused(check, scope, "names the type \"" + name + "\", which JSON does not have");
    }
  }
  if (check.names.empty()) return refused(check, scope, "must name one type or several");
  return {};
}

Result<void> read_reference(Compiler& compiler, Check& check, const Scope& scope) {
  if (!check.value.is_string()) return refused(check, scope, "must be a reference");
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

// --- any value
// -------------------------------------------------------------------------------------

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : " or ").append(name);
  return out;
}

bool is_of_type(const Value& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_true() || value.is(json::Type::boolean_false);
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return value.is_number() && read_decimal(value.number_text()).is_integer();
}

bool holds_type(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  for (const std::string& type : check.names) {
    if (is_of_type(value, type)) return true;
  }
  return evaluation.fail(check, "must be of type " + listed(check.names));
}

bool is_one_of(Evaluation& evaluation, const Check& check, const Value& value) {
  std::string text;
  append_canonical(text, value);
  evaluation.spend(text.size() + check.names.size());
  return std::find(check.names.begin(), check.names.end(), text) != check.names.end();
}

bool holds_enum(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (is_one_of(evaluation, check, value)) return true;
  return evaluation.fail(check, "must be one of " + check.value.to_json());
}

bool holds_const(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (is_one_of(evaluation, check, value)) return true;
  return evaluation.fail(check, "must be " + check.value.to_json());
}

bool holds_reference(Evaluation& evaluation, const Check& check, const Value& value,
                     Evaluated* evaluated) {
  return evaluation.check(check.nodes.front(), value, evaluated);
}

bool holds_dynamic_reference(Evaluation& evaluation, const Check& check, const Value& value,
                             Evaluated* evaluated) {
  NodeId node = check.nodes.front();
  if (!check.names.empty()) node = evaluation.dynamic_node(check.names.front(), node);
  return evaluation.check(node, value, evaluated);
}

bool holds_all(Evaluation& evaluation, const Check& check, const Value& value,
               Evaluated* evaluated) {
  bool good = true;
  for (const NodeId node : check.nodes) {
    good = evaluation.check(node, value, evaluated) && good;
    if (!good && !evaluation.wants_more()) return false;
  }
  return good;
}

// Of branches that all fail, the first that agrees with the value itself and fails inside it says
// more than the bare fact.
void tell_closest(Evaluation& evaluation, const std::vector<std::vector<Violation>>& branches) {
  for (const auto& violations : branches) {
    const bool inside =
        !violations.empty() &&
        std::all_of(violations.begin(), violations.end(), [&](const Violation& violation) {
          return violation.path.size() > evaluation.path().size() ||
                 (violation.keyword != "type" && violation.keyword != "const" &&
                  violation.keyword != "enum");
        });
    if (inside) return evaluation.tell(violations);
  }
}

bool holds_any(Evaluation& evaluation, const Check& check, const Value& value,
               Evaluated* evaluated) {
  bool any = false;
  std::vector<std::vector<Violation>> branches;
  for (const NodeId node : check.nodes) {
    any = evaluation.try_branch(node, value, evaluated, branches.emplace_back()) || any;
    if (any && evaluated == nullptr) return true;
  }
  if (any) return true;
  evaluation.fail(check, "must follow at least one of " + std::to_string(check.nodes.size()) +
                             " schemas and follows none");
  tell_closest(evaluation, branches);
  return false;
}

bool holds_one(Evaluation& evaluation, const Check& check, const Value& value,
               Evaluated* evaluated) {
  std::size_t count = 0;
  Evaluated of_match;
  std::vector<std::vector<Violation>> branches;
  for (const NodeId node : check.nodes) {
    Evaluated own;
    Evaluated* seen = evaluated == nullptr ? nullptr : &own;
    if (!evaluation.try_branch(node, value, seen, branches.emplace_back())) continue;
    if (++count == 1) of_match = std::move(own);
  }
  if (count == 1) {
    if (evaluated != nullptr) evaluated->merge(of_match);
    return true;
  }
  evaluation.fail(check, "must follow exactly one of " + std::to_string(check.nodes.size()) +
                             " schemas and follows " + std::to_string(count));
  if (count == 0) tell_closest(evaluation, branches);
  return false;
}

bool holds_not(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (!evaluation.holds(check.nodes.front(), value, nullptr)) return !evaluation.stopped();
  return evaluation.fail(check, "must not follow the schema in it");
}

bool holds_condition(Evaluation& evaluation, const Check& check, const Value& value,
                     Evaluated* evaluated) {
  const bool met = evaluation.holds(check.nodes[0], value, evaluated);
  const NodeId branch = check.nodes[met ? 1 : 2];
  return branch == no_node || evaluation.check(branch, value, evaluated);
}

// --- numbers
// ---------------------------------------------------------------------------------------

bool holds_multiple(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (is_multiple(read_decimal(value.number_text()), check.number)) return true;
  return evaluation.fail(check, "must be a multiple of " + check.value.to_json());
}

bool holds_minimum(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  const int order = compare(read_decimal(value.number_text()), check.number);
  if (order > 0 || (order == 0 && check.least == 0)) return true;
  return evaluation.fail(check, "must be at least " + check.value.to_json());
}

bool holds_maximum(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  const int order = compare(read_decimal(value.number_text()), check.number);
  if (order < 0 || (order == 0 && check.least == 0)) return true;
  return evaluation.fail(check, "must be at most " + check.value.to_json());
}

bool holds_above(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (!check.value.is_number()) return true;
  if (compare(read_decimal(value.number_text()), check.number) > 0) return true;
  return evaluation.fail(check, "must be above " + check.value.to_json());
}

bool holds_below(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (!check.value.is_number()) return true;
  if (compare(read_decimal(value.number_text()), check.number) < 0) return true;
  return evaluation.fail(check, "must be below " + check.value.to_json());
}

// --- strings
// ---------------------------------------------------------------------------------------

std::size_t length_of(const Value& value) {
  const std::string_view text = value.string();
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string bound(std::string_view what, std::size_t count, std::string_view unit) {
  return "must have at " + std::string(what) + " " + std::to_string(count) + " " +
         std::string(unit);
}

bool holds_min_length(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (length_of(value) >= check.least) return true;
  return evaluation.fail(check, bound("least", check.least, "characters"));
}

bool holds_max_length(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (length_of(value) <= check.most) return true;
  return evaluation.fail(check, bound("most", check.most, "characters"));
}

bool holds_pattern(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (evaluation.matches(check.patterns.front(), value.string())) return true;
  return evaluation.fail(check, "must match " + check.value.to_json());
}

bool holds_format(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (!evaluation.asserts_formats() || !check.value.is_string()) return true;
  if (evaluation.spend(value.string().size())) return false;
  if (has_format(check.value.string(), value.string())) return true;
  return evaluation.fail(check, "must be of the format " + check.value.to_json());
}

// --- arrays
// ----------------------------------------------------------------------------------------

bool holds_min_items(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (value.size() >= check.least) return true;
  return evaluation.fail(check, bound("least", check.least, "items"));
}

bool holds_max_items(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (value.size() <= check.most) return true;
  return evaluation.fail(check, bound("most", check.most, "items"));
}

bool holds_unique(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  if (!check.value.is_true()) return true;
  std::vector<std::string> texts;
  for (const Value item : value.items()) {
    append_canonical(texts.emplace_back(), item);
    if (evaluation.spend(texts.back().size())) return false;
  }
  std::sort(texts.begin(), texts.end());
  if (std::adjacent_find(texts.begin(), texts.end()) == texts.end()) return true;
  return evaluation.fail(check, "must not hold the same item twice");
}

// Items from `first` on by one schema.
bool check_items(Evaluation& evaluation, NodeId node, const Value& value, std::size_t first,
                 Evaluated* evaluated) {
  bool good = true;
  std::size_t index = 0;
  for (const Value item : value.items()) {
    if (index >= first) good = evaluation.check_at(std::to_string(index), node, item) && good;
    ++index;
    if (!good && !evaluation.wants_more()) return false;
  }
  if (evaluated != nullptr) evaluated->all_items = true;
  return good;
}

// The first items by one schema each.
bool check_prefix(Evaluation& evaluation, const std::vector<NodeId>& nodes, const Value& value,
                  Evaluated* evaluated) {
  bool good = true;
  std::size_t index = 0;
  for (const Value item : value.items()) {
    if (index >= nodes.size()) break;
    good = evaluation.check_at(std::to_string(index), nodes[index], item) && good;
    if (evaluated != nullptr) evaluated->add(index);
    ++index;
  }
  return good;
}

bool holds_prefix(Evaluation& evaluation, const Check& check, const Value& value,
                  Evaluated* evaluated) {
  return check_prefix(evaluation, check.nodes, value, evaluated);
}

bool holds_items(Evaluation& evaluation, const Check& check, const Value& value,
                 Evaluated* evaluated) {
  if (check.value.is_array()) return check_prefix(evaluation, check.nodes, value, evaluated);
  return check_items(evaluation, check.nodes.front(), value, check.least, evaluated);
}

bool holds_additional_items(Evaluation& evaluation, const Check& check, const Value& value,
                            Evaluated* evaluated) {
  if (check.least == no_limit) return true;
  return check_items(evaluation, check.nodes.front(), value, check.least, evaluated);
}

bool holds_contains(Evaluation& evaluation, const Check& check, const Value& value,
                    Evaluated* evaluated) {
  std::size_t count = 0;
  std::size_t index = 0;
  for (const Value item : value.items()) {
    if (evaluation.holds(check.nodes.front(), item, nullptr)) {
      ++count;
      if (evaluated != nullptr) evaluated->add(index);
    }
    if (evaluation.stopped()) return false;
    ++index;
  }
  if (count < check.least) {
    return evaluation.fail(check,
                           bound("least", check.least, "items that follow the schema in it"));
  }
  if (count > check.most) {
    return evaluation.fail(check, bound("most", check.most, "items that follow the schema in it"));
  }
  return true;
}

bool holds_unevaluated_items(Evaluation& evaluation, const Check& check, const Value& value,
                             Evaluated* evaluated) {
  bool good = true;
  std::size_t index = 0;
  for (const Value item : value.items()) {
    if (evaluated == nullptr || !evaluated->has(index)) {
      good = evaluation.check_at(std::to_string(index), check.nodes.front(), item) && good;
    }
    ++index;
  }
  if (evaluated != nullptr) evaluated->all_items = true;
  return good;
}

// --- objects
// ---------------------------------------------------------------------------------------

bool holds_min_properties(Evaluation& evaluation, const Check& check, const Value& value,
                          Evaluated*) {
  if (value.size() >= check.least) return true;
  return evaluation.fail(check, bound("least", check.least, "members"));
}

bool holds_max_properties(Evaluation& evaluation, const Check& check, const Value& value,
                          Evaluated*) {
  if (value.size() <= check.most) return true;
  return evaluation.fail(check, bound("most", check.most, "members"));
}

bool has_member(Evaluation& evaluation, const Value& value, std::string_view name) {
  return !evaluation.spend(value.size()) && value[name].exists();
}

bool holds_required(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  bool good = true;
  for (const std::string& name : check.names) {
    if (has_member(evaluation, value, name)) continue;
    good = evaluation.fail(check, "the member \"" + name + "\" is missing");
  }
  return good;
}

bool holds_dependent_required(Evaluation& evaluation, const Check& check, const Value& value,
                              Evaluated*) {
  bool good = true;
  for (const auto& [key, names] : check.value.members()) {
    if (!names.is_array() || !has_member(evaluation, value, key)) continue;
    for (const Value name : names.items()) {
      if (has_member(evaluation, value, name.string())) continue;
      good = evaluation.fail(check, "with the member \"" + std::string(key) + "\", \"" +
                                        std::string(name.string()) + "\" is needed too");
    }
  }
  return good;
}

bool holds_dependent_schemas(Evaluation& evaluation, const Check& check, const Value& value,
                             Evaluated* evaluated) {
  bool good = true;
  for (std::size_t i = 0; i < check.nodes.size(); ++i) {
    if (!has_member(evaluation, value, check.names[i])) continue;
    good = evaluation.check(check.nodes[i], value, evaluated) && good;
  }
  return good;
}

bool holds_dependencies(Evaluation& evaluation, const Check& check, const Value& value,
                        Evaluated* evaluated) {
  const bool names = holds_dependent_required(evaluation, check, value, evaluated);
  return holds_dependent_schemas(evaluation, check, value, evaluated) && names;
}

bool holds_properties(Evaluation& evaluation, const Check& check, const Value& value,
                      Evaluated* evaluated) {
  bool good = true;
  for (std::size_t i = 0; i < check.nodes.size(); ++i) {
    if (!has_member(evaluation, value, check.names[i])) continue;
    good = evaluation.check_at(check.names[i], check.nodes[i], value[check.names[i]]) && good;
    if (evaluated != nullptr) evaluated->names.push_back(check.names[i]);
    if (!good && !evaluation.wants_more()) return false;
  }
  return good;
}

bool holds_pattern_properties(Evaluation& evaluation, const Check& check, const Value& value,
                              Evaluated* evaluated) {
  bool good = true;
  for (const auto& [key, member] : value.members()) {
    for (std::size_t i = 0; i < check.patterns.size(); ++i) {
      if (!evaluation.matches(check.patterns[i], key)) continue;
      good = evaluation.check_at(key, check.nodes[i], member) && good;
      if (evaluated != nullptr) evaluated->names.push_back(key);
    }
    if (evaluation.stopped()) return false;
  }
  return good;
}

bool covers(Evaluation& evaluation, const Check& check, std::string_view key) {
  if (evaluation.spend(check.names.size())) return true;
  if (std::find(check.names.begin(), check.names.end(), key) != check.names.end()) return true;
  for (const Pattern& pattern : check.patterns) {
    if (evaluation.matches(pattern, key)) return true;
  }
  return false;
}

// A member that the schema refuses altogether is told by its own name.
bool check_member(Evaluation& evaluation, const Check& check, std::string_view key,
                  const Value& member) {
  if (check.value.is(json::Type::boolean_false)) {
    return evaluation.fail_at(key, check, "this member is not allowed");
  }
  return evaluation.check_at(key, check.nodes.front(), member);
}

bool holds_additional_properties(Evaluation& evaluation, const Check& check, const Value& value,
                                 Evaluated* evaluated) {
  bool good = true;
  for (const auto& [key, member] : value.members()) {
    if (covers(evaluation, check, key)) continue;
    good = check_member(evaluation, check, key, member) && good;
    if (evaluation.stopped()) return false;
  }
  if (evaluated != nullptr) evaluated->all_names = true;
  return good;
}

bool holds_unevaluated_properties(Evaluation& evaluation, const Check& check, const Value& value,
                                  Evaluated* evaluated) {
  bool good = true;
  for (const auto& [key, member] : value.members()) {
    if (evaluated != nullptr && evaluated->has(key)) continue;
    if (evaluation.spend(evaluated == nullptr ? 1 : evaluated->names.size())) return false;
    good = check_member(evaluation, check, key, member) && good;
  }
  if (evaluated != nullptr) evaluated->all_names = true;
  return good;
}

// A name as a value: the schema of `propertyNames` speaks of strings.
bool holds_property_names(Evaluation& evaluation, const Check& check, const Value& value,
                          Evaluated*) {
  bool good = true;
  for (const auto& [key, member] : value.members()) {
    std::string text;
    json::append_string(text, key, json::Surrogates::keep);
    json::Document document;
    const auto name = document.parse(text);
    if (evaluation.spend(text.size())) return false;
    if (name && evaluation.holds(check.nodes.front(), name.value(), nullptr)) continue;
    good = evaluation.fail_at(key, check, "this name is not allowed");
  }
  return good;
}

// --- the table
// -------------------------------------------------------------------------------------

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
