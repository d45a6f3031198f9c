// What keywords demand of any value, of numbers and of strings.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "schema/evaluate.hpp"
#include "schema/format.hpp"
#include "schema/keyword_functions.hpp"

namespace millrace::schema {

using json::Value;

// ---- Any value

namespace {

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

}  // namespace

bool holds_type(Evaluation& evaluation, const Check& check, const Value& value, Evaluated*) {
  for (const std::string& type : check.names) {
    if (is_of_type(value, type)) return true;
  }
  return evaluation.fail(check, "must be of type " + listed(check.names));
}

namespace {

bool is_one_of(Evaluation& evaluation, const Check& check, const Value& value) {
  std::string text;
  append_canonical(text, value);
  evaluation.spend(text.size() + check.names.size());
  return std::find(check.names.begin(), check.names.end(), text) != check.names.end();
}

}  // namespace

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

namespace {

// Of branches that all fail, the first that agrees with the value itself and fails inside it says
// more than the bare fact.
void report_closest(Evaluation& evaluation, const std::vector<std::vector<Violation>>& branches) {
  for (const auto& violations : branches) {
    const bool inside =
        !violations.empty() &&
        std::all_of(violations.begin(), violations.end(), [&](const Violation& violation) {
          return violation.path.size() > evaluation.path().size() ||
                 (violation.keyword != "type" && violation.keyword != "const" &&
                  violation.keyword != "enum");
        });
    if (inside) return evaluation.report(violations);
  }
}

// The branch that takes the value with the fewest members left out.
bool holds_sparing(Evaluation& evaluation, const Check& check, const Value& value,
                   Evaluated* evaluated, std::vector<std::vector<Violation>>& branches) {
  const std::size_t mark = evaluation.left_out_count();
  std::optional<std::vector<std::string>> best;
  for (const NodeId node : check.nodes) {
    const bool good = evaluation.try_branch(node, value, evaluated, branches.emplace_back());
    std::vector<std::string> left_out = evaluation.take_left_out(mark);
    if (good && (!best || left_out.size() < best->size())) best = std::move(left_out);
    if (best && best->empty() && evaluated == nullptr) break;
  }
  if (best) evaluation.leave_out(*best);
  return best.has_value();
}

}  // namespace

bool holds_any(Evaluation& evaluation, const Check& check, const Value& value,
               Evaluated* evaluated) {
  bool any = false;
  std::vector<std::vector<Violation>> branches;
  if (evaluation.leaves_out()) {
    any = holds_sparing(evaluation, check, value, evaluated, branches);
    if (!any) report_closest(evaluation, branches);
    return any;
  }
  for (const NodeId node : check.nodes) {
    any = evaluation.try_branch(node, value, evaluated, branches.emplace_back()) || any;
    if (any && evaluated == nullptr) return true;
  }
  if (any) return true;
  evaluation.fail(check, "must follow at least one of " + std::to_string(check.nodes.size()) +
                             " schemas and follows none");
  report_closest(evaluation, branches);
  return false;
}

bool holds_one(Evaluation& evaluation, const Check& check, const Value& value,
               Evaluated* evaluated) {
  if (evaluation.leaves_out()) return holds_any(evaluation, check, value, evaluated);
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
  if (count == 0) report_closest(evaluation, branches);
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

// ---- Numbers

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

// ---- Strings

namespace {

std::size_t length_of(const Value& value) {
  const std::string_view text = value.string();
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

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

}  // namespace millrace::schema
