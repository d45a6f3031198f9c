// Lists of names with blanks between them, as rows of tables have them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace millrace {

constexpr bool list_has_name(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace millrace
