#include "adapter/further_members.hpp"

#include <algorithm>

#include "base/json_depth.hpp"

namespace millrace::adapter {

std::string further_members(const json::Value& object, std::span<const std::string_view> known) {
  std::string members;
  for (const json::Member& member : object.members()) {
    const bool is_known = std::find(known.begin(), known.end(), member.key) != known.end();
    if (!is_known && !member.value.is_null()) json::append_member(members, member);
  }
  return members;
}

void add_further(std::string& members, std::string_view more) {
  if (members.empty() || more.empty()) {
    members.append(more);
    return;
  }
  json::Document first(json::data_depth_limit);
  json::Document second(json::data_depth_limit);
  const auto held = first.parse("{" + members + "}");
  const auto added = second.parse("{" + std::string(more) + "}");
  if (!held || !added) return;
  for (const json::Member& member : added.value().members()) {
    if (!held.value()[member.key].exists()) json::append_member(members, member);
  }
}

}  // namespace millrace::adapter
