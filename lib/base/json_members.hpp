// Members of an object: by the names of another, and those that a reader does not know.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.hpp"

namespace millrace::json {

// Finds the members of one object by the names of another. A search among all members for each of
// them is work that grows with the square.
// Lifetime: that of the object.
class MemberIndex {
 public:
  explicit MemberIndex(const Value& object) : object_(object) {
    constexpr std::size_t few = 32;
    if (object.size() <= few) return;
    // Of a repeated name the last one counts.
    for (const Member& member : object.members()) members_[member.key] = member.value;
  }
  [[nodiscard]] Value operator[](std::string_view key) const {
    if (members_.empty()) return object_[key];
    const auto found = members_.find(key);
    return found == members_.end() ? Value() : found->second;
  }

 private:
  Value object_;
  std::unordered_map<std::string_view, Value> members_;
};

// Gives `take` each member that is none of `known`, a range of names, and not null.
template <class Names, class Take>
void each_further(const Value& object, const Names& known, const Take& take) {
  for (const Member& member : object.members()) {
    const bool is_known = std::find(known.begin(), known.end(), member.key) != known.end();
    if (!is_known && !member.value.is_null()) take(member);
  }
}

// These members as `"key":value,...`; "" for none.
template <class Names>
std::string further_members(const Value& object, const Names& known) {
  std::string members;
  each_further(object, known, [&](const Member& member) { append_member(members, member); });
  return members;
}

}  // namespace millrace::json
