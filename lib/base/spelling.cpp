#include "base/spelling.hpp"

#include <algorithm>
#include <string>

#include "base/ascii.hpp"

namespace millrace {
namespace {

std::string plain(std::string_view name) {
  std::string text = lowered(name);
  std::erase_if(text, [](char c) { return c == '-' || c == '_'; });
  return text;
}

bool is_one_edit_away(std::string_view a, std::string_view b) {
  const std::string_view longer = a.size() >= b.size() ? a : b;
  const std::string_view shorter = a.size() >= b.size() ? b : a;
  if (longer.size() - shorter.size() > 1) return false;
  std::size_t same = 0;
  while (same < shorter.size() && longer[same] == shorter[same]) ++same;
  const std::string_view rest = longer.substr(std::min(same + 1, longer.size()));
  const bool is_longer = longer.size() > shorter.size();
  if (rest == shorter.substr(std::min(is_longer ? same : same + 1, shorter.size()))) return true;
  const bool is_swapped = !is_longer && same + 1 < longer.size() &&
                          longer[same] == shorter[same + 1] && longer[same + 1] == shorter[same];
  return is_swapped && longer.substr(same + 2) == shorter.substr(same + 2);
}

}  // namespace

std::optional<std::string_view> meant_by(std::string_view name,
                                         const std::vector<std::string_view>& known,
                                         std::size_t letters) {
  const std::string wanted = plain(name);
  const auto found = std::find_if(known.begin(), known.end(), [&](std::string_view one) {
    const std::string other = plain(one);
    return other == wanted || (other.size() >= letters && is_one_edit_away(other, wanted));
  });
  return found == known.end() ? std::nullopt : std::optional(*found);
}

std::string advice(std::string_view name, const std::vector<std::string_view>& known) {
  if (const auto meant = meant_by(name, known))
    return "Did you mean '" + std::string(*meant) + "'?";
  std::string list;
  for (const std::string_view one : known) list.append(list.empty() ? "" : ", ").append(one);
  return "Use one of " + list + ".";
}

}  // namespace millrace
