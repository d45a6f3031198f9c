#include "adapter/member_set.hpp"

#include <algorithm>
#include <cstddef>

#include "base/json_members.hpp"

namespace millrace::adapter {

std::size_t MemberSet::place_of(std::string_view key) const {
  if (!places_.empty()) {
    const auto known = places_.find(key);
    return known == places_.end() ? members_.size() : known->second;
  }
  const auto known = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  return static_cast<std::size_t>(known - members_.begin());
}

void MemberSet::set(std::string_view key, std::string json) {
  constexpr std::size_t few = 16;
  const std::size_t place = place_of(key);
  if (place < members_.size()) {
    members_[place].second = std::move(json);
    return;
  }
  members_.emplace_back(key, std::move(json));
  if (members_.size() <= few) return;
  for (std::size_t at = places_.size(); at < members_.size(); ++at) {
    places_.emplace(members_[at].first, at);
  }
}

void MemberSet::join(std::string_view key, const json::Value& object) {
  constexpr std::size_t joined_limit_bytes = 64UL * 1024;
  std::string json = object.to_json(json::Surrogates::keep);
  const std::size_t place = place_of(key);
  const bool is_known = place < members_.size();
  const std::string_view before = is_known ? std::string_view(members_[place].second) : "{}";
  const bool is_new = before == json || before.size() > joined_limit_bytes;
  json::Document document(json::data_depth_limit);
  const auto earlier = document.parse(is_new ? "{}" : before);
  if (earlier && object.is_object()) {
    const json::MemberIndex members(object);
    for (const json::Member& member : earlier.value().members()) {
      if (members[member.key].exists()) continue;
      json.pop_back();
      json::append_member(json, member);
      json.push_back('}');
    }
  }
  set(key, std::move(json));
}

std::string MemberSet::take() {
  std::string out = "{";
  append_to(out);
  members_.clear();
  places_.clear();
  return out + "}";
}

void MemberSet::append_to(std::string& object) const {
  for (const auto& [key, json] : members_) json::append_raw_member(object, key, json);
}

}  // namespace millrace::adapter
