// Members of an answer's items, parts, calls and blocks that an adapter does not know. The same
// provider gets them again at their places: as a state of the kind `members`, an object that has
// them as the item had them. What is within a member that the adapter knows stands within a member
// of that name: `{"zz": 1, "function": {"zz": 2}}`.
#pragma once

#include <string>
#include <string_view>

#include "base/json_members.hpp"

namespace millrace::adapter {

inline constexpr std::string_view members_kind = "members";

// Appends members in the form of json::further_members to others. Of two with one name the first
// counts.
void add_further(std::string& members, std::string_view more);

}  // namespace millrace::adapter
