#include "base/json_canonical.hpp"

#include <algorithm>
#include <vector>

#include "base/json.hpp"

namespace millrace::json {

std::string canonical_json(const Tree& value) {
  if (value.is_array()) {
    std::string out = "[";
    for (const Tree& item : value.items()) {
      if (out.size() > 1) out.push_back(',');
      out.append(canonical_json(item));
    }
    return out + ']';
  }
  if (!value.is_object()) return value.to_json();
  std::vector<const Tree::Member*> members;
  for (const auto& member : value.members()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* left, const auto* right) { return left->first < right->first; });
  std::string out = "{";
  for (const auto* member : members) {
    append_raw_member(out, member->first, canonical_json(member->second));
  }
  return out + '}';
}

}  // namespace millrace::json
