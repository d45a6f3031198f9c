#include "encoder/left_over.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_depth.hpp"
#include "base/json_tree.hpp"

namespace millrace::encoder {
namespace {

constexpr std::array<std::string_view, 11> usual_reasons{
    "",          "stop",     "STOP",      "end_turn",      "tool_calls",   "tool_use",
    "TOOL_CALL", "COMPLETE", "completed", "function_call", "FUNCTION_CALL"};

// A text, a number as it was written, or true; the same text is another leaf as a number.
using Leaf = std::pair<json::Type, std::string_view>;
using Leaves = std::vector<Leaf>;

// Nothing of what says nothing.
std::optional<Leaf> leaf_of(const json::Value& value) {
  if (value.is_true()) return Leaf{json::Type::boolean_true, {}};
  if (const auto text = value.filled_string()) return Leaf{json::Type::string, *text};
  const std::string_view number = value.number_text();
  if (number.empty() || number == "0") return std::nullopt;
  return Leaf{json::Type::number, number};
}

void add_leaves(Leaves& leaves, const json::Value& value) {
  for (const json::Value item : value.items()) add_leaves(leaves, item);
  for (const json::Member& member : value.members()) add_leaves(leaves, member.value);
  if (const auto leaf = leaf_of(value)) leaves.push_back(*leaf);
}

// `sorted` are the leaves of what was written.
bool has_all(const Leaves& sorted, const json::Value& value) {
  for (const json::Value item : value.items()) {
    if (!has_all(sorted, item)) return false;
  }
  for (const json::Member& member : value.members()) {
    if (!has_all(sorted, member.value)) return false;
  }
  const auto leaf = leaf_of(value);
  return !leaf || std::binary_search(sorted.begin(), sorted.end(), *leaf);
}

bool is_money(std::string_view name) {
  return name.starts_with("cost") || name.starts_with("upstream");
}

bool has_money(const json::Value& value) {
  for (const json::Value item : value.items()) {
    if (has_money(item)) return true;
  }
  for (const json::Member& member : value.members()) {
    if (is_money(member.key) || has_money(member.value)) return true;
  }
  return false;
}

void drop_money(json::Tree& value) {
  for (json::Tree& item : value.items()) drop_money(item);
  std::erase_if(value.members(), [](const auto& member) { return is_money(member.first); });
  for (auto& [name, inner] : value.members()) drop_money(inner);
}

}  // namespace

bool is_shown(const json::Value& value, std::string_view written_json) {
  json::Document document(json::data_depth_limit);
  Leaves leaves;
  if (const auto written = document.parse(written_json)) add_leaves(leaves, written.value());
  std::sort(leaves.begin(), leaves.end());
  return has_all(leaves, value);
}

bool is_shown(std::string_view json, std::string_view written_json) {
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(json);
  return !value || is_shown(value.value(), written_json);
}

std::string unshown_usage(std::string_view json, std::string_view written_json) {
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(json);
  if (!value || is_shown(value.value(), written_json)) return {};
  if (!has_money(value.value())) return value.value().to_json();
  json::Tree tree(value.value());
  drop_money(tree);
  std::string rest = tree.to_json();
  return is_shown(rest, written_json) ? std::string() : rest;
}

bool is_usual(const event::Finish& finish) {
  const auto* found = std::find(usual_reasons.begin(), usual_reasons.end(), finish.reason);
  return found != usual_reasons.end();
}

}  // namespace millrace::encoder
