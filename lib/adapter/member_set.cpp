#include "adapter/member_set.hpp"

#include <algorithm>
#include <cstddef>

namespace millrace::adapter {

void MemberSet::set(std::string_view key, std::string json) {
  const auto known = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  if (known != members_.end()) {
    known->second = std::move(json);
  } else {
    members_.emplace_back(key, std::move(json));
  }
}

const std::string* MemberSet::find(std::string_view key) const {
  const auto known = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  return known == members_.end() ? nullptr : &known->second;
}

void MemberSet::join(std::string_view key, const json::Value& object) {
  constexpr std::size_t joined_limit_bytes = 64UL * 1024;
  std::string json = object.to_json(json::Surrogates::keep);
  const std::string* before = find(key);
  const bool is_new = before == nullptr || *before == json || before->size() > joined_limit_bytes;
  json::Document document(json::data_depth_limit);
  const auto earlier = document.parse(is_new ? std::string_view("{}") : *before);
  if (earlier && object.is_object()) {
    for (const json::Member& member : earlier.value().members()) {
      if (object[member.key].exists()) continue;
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
  return out + "}";
}

void MemberSet::append_to(std::string& object) const {
  for (const auto& [key, json] : members_) json::append_raw_member(object, key, json);
}

}  // namespace millrace::adapter
