// What keywords demand of arrays and objects.
#include <algorithm>
#include <string>
#include <vector>

#include "schema/evaluate.hpp"
#include "schema/keyword_functions.hpp"

namespace millrace::schema {

using json::Value;

// ---- Arrays

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

namespace {

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

}  // namespace

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

// ---- Objects

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

namespace {

bool has_member(Evaluation& evaluation, const Value& value, std::string_view name) {
  return !evaluation.spend(value.size()) && value[name].exists();
}

}  // namespace

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
    good = evaluation.check_member(check.names[i], check.nodes[i], value[check.names[i]]) && good;
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
      if (!check.patterns[i].is_known() || !evaluation.matches(check.patterns[i], key)) continue;
      good = evaluation.check_member(key, check.nodes[i], member) && good;
      if (evaluated != nullptr) evaluated->names.push_back(key);
    }
    if (evaluation.stopped()) return false;
  }
  return good;
}

namespace {

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
    if (evaluation.leave_out(key, member)) return true;
    return evaluation.fail_at(key, check, "this member is not allowed");
  }
  return evaluation.check_member(key, check.nodes.front(), member);
}

}  // namespace

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

}  // namespace millrace::schema
