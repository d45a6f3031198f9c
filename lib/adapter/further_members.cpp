#include "adapter/further_members.hpp"

#include "base/json_depth.hpp"

namespace millrace::adapter {

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
  const json::MemberIndex known(held.value());
  for (const json::Member& member : added.value().members()) {
    if (!known[member.key].exists()) json::append_member(members, member);
  }
}

}  // namespace millrace::adapter
