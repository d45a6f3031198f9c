#include "tool/mcp/safe_schema.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tool/result_text.hpp"

namespace millrace::mcp {
namespace {

using json::Tree;

// Said to people and models; nothing depends on them.
constexpr std::array<std::string_view, 7> reported{
    "description", "title", "$comment", "default", "example", "examples", "markdownDescription"};
// Their members are names, and schemas behind them.
constexpr std::array<std::string_view, 7> maps{
    "properties",       "patternProperties", "$defs", "definitions", "dependencies",
    "dependentSchemas", "dependentRequired"};

bool is_in(const std::array<std::string_view, 7>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_safe(std::string_view text) {
  return tool::result_text(text) == text;
}

// Whether every text in a value is safe, names of members included.
bool is_all_safe(const Tree& value) {
  if (value.is_string()) return is_safe(value.string());
  return std::all_of(value.items().begin(), value.items().end(), is_all_safe) &&
         std::all_of(value.members().begin(), value.members().end(), [](const auto& member) {
           return is_safe(member.first) && is_all_safe(member.second);
         });
}

// Changes texts; what has names that are not safe becomes null.
void neutralise(Tree& value) {
  if (value.is_string()) {
    value = Tree::text(tool::result_text(value.string()));
  } else if (!is_all_safe(value)) {
    if (!value.is_array()) {
      value = Tree();
      return;
    }
    for (Tree& item : value.items()) neutralise(item);
  }
}

bool make_safe_within(Tree& node, bool are_names) {
  std::vector<std::string> unsafe;
  for (auto& [name, value] : node.members()) {
    if (!is_safe(name)) return false;
    if (!are_names && is_in(reported, name)) {
      neutralise(value);
    } else if (value.is_object()) {
      if (!make_safe_within(value, !are_names && is_in(maps, name))) return false;
    } else if (value.is_array() && std::any_of(value.items().begin(), value.items().end(),
                                               [](const Tree& item) { return item.is_object(); })) {
      for (Tree& item : value.items()) {
        if (item.is_object() ? !make_safe_within(item, false) : !is_all_safe(item)) return false;
      }
    } else if (!is_all_safe(value)) {
      unsafe.emplace_back(name);
    }
  }
  for (const std::string& name : unsafe) node.erase(name);
  return true;
}

}  // namespace

bool make_safe(Tree& schema) {
  return make_safe_within(schema, false);
}

}  // namespace millrace::mcp
