#include "encoder/left_over.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/json_depth.hpp"
#include "base/json_tree.hpp"

namespace millrace::encoder {
namespace {

using Leaves = std::unordered_set<std::string>;

constexpr std::array<std::string_view, 11> usual_reasons{
    "",          "stop",     "STOP",      "end_turn",      "tool_calls",   "tool_use",
    "TOOL_CALL", "COMPLETE", "completed", "function_call", "FUNCTION_CALL"};

// A number as it was written, a text with its quotes; "" says nothing.
std::string leaf_of(const json::Value& value) {
  if (value.is_true()) return "true";
  if (value.is_number()) return value.number_text() == "0" ? "" : std::string(value.number_text());
  if (!value.filled_string()) return {};
  std::string text;
  json::append_string(text, value.string(), json::Surrogates::keep);
  return text;
}

void add_leaves(Leaves& leaves, const json::Value& value) {
  for (const json::Value item : value.items()) add_leaves(leaves, item);
  for (const json::Member& member : value.members()) add_leaves(leaves, member.value);
  if (std::string leaf = leaf_of(value); !leaf.empty()) leaves.insert(std::move(leaf));
}

bool has_all(const Leaves& leaves, const json::Value& value) {
  for (const json::Value item : value.items()) {
    if (!has_all(leaves, item)) return false;
  }
  for (const json::Member& member : value.members()) {
    if (!has_all(leaves, member.value)) return false;
  }
  const std::string leaf = leaf_of(value);
  return leaf.empty() || leaves.contains(leaf);
}

void drop_money(json::Tree& value) {
  for (json::Tree& item : value.items()) drop_money(item);
  std::erase_if(value.members(), [](const json::Tree::Member& member) {
    const std::string_view name = member.first;
    return name.starts_with("cost") || name.starts_with("upstream");
  });
  for (auto& [name, inner] : value.members()) drop_money(inner);
}

}  // namespace

std::string without_money(std::string_view json) {
  auto tree = json::Tree::parse(json);
  if (!tree) return {};
  drop_money(tree.value());
  return tree.value().to_json();
}

bool is_shown(const json::Value& value, std::string_view written_json) {
  json::Document document(json::data_depth_limit);
  Leaves leaves;
  if (const auto written = document.parse(written_json)) add_leaves(leaves, written.value());
  return has_all(leaves, value);
}

bool is_shown(std::string_view json, std::string_view written_json) {
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(json);
  return !value || is_shown(value.value(), written_json);
}

bool is_usual(const event::Finish& finish) {
  const auto* found = std::find(usual_reasons.begin(), usual_reasons.end(), finish.reason);
  return found != usual_reasons.end();
}

}  // namespace millrace::encoder
