#include "agent/deltas.hpp"

#include <algorithm>
#include <string_view>

namespace millrace::agent {

using json::Tree;

namespace {

std::string_view key_of(const Tree& item) {
  for (const std::string_view key : {"name", "id"}) {
    if (item[key].is_string()) return key;
  }
  return {};
}

Tree* same_entry(Tree& list, const Tree& item) {
  const std::string_view key = key_of(item);
  if (key.empty()) return nullptr;
  auto& items = list.items();
  const auto found = std::find_if(items.begin(), items.end(), [&](const Tree& other) {
    return other[key].string() == item[key].string();
  });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Tree* same_entry(const Tree& list, const Tree& item) {
  const std::string_view key = key_of(item);
  if (key.empty()) return nullptr;
  const auto& items = list.items();
  const auto found = std::find_if(items.begin(), items.end(), [&](const Tree& other) {
    return other[key].string() == item[key].string();
  });
  return found == items.end() ? nullptr : &*found;
}

void add_delta(Tree& sum, const Tree& base, const Tree& result) {
  if (result.is_number()) {
    const double delta = result.number_or(0) - base.number_or(0);
    if (delta != 0 || sum.is_null()) sum = Tree::number(sum.number_or(0) + delta);
  } else if (result.is_object()) {
    for (const auto& [key, value] : result.members()) {
      Tree* member = sum.find(key);
      add_delta(member != nullptr ? *member : sum.set(key, Tree()), base[key], value);
    }
  } else if (result.is_array()) {
    for (const Tree& item : result.items()) {
      Tree* entry = same_entry(sum, item);
      const Tree* before = same_entry(base, item);
      add_delta(entry != nullptr ? *entry : sum.push(Tree()), before != nullptr ? *before : Tree(),
                item);
    }
  } else if (!result.is_null()) {
    sum = result;
  }
}

}  // namespace millrace::agent
