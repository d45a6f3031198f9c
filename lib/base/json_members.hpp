// The members of an object that a reader does not know.
#pragma once

#include <algorithm>
#include <string>

#include "base/json.hpp"

namespace millrace::json {

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
