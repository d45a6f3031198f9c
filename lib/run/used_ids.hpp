// The ids that a reader of a run has seen. A model may repeat those of an earlier turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace millrace::run {

// Keeps eight bytes of each, not its text: a run that waits has some dozens. Of two ids with one
// hash the later counts as used, and readers get another one.
// Thread: any, one at a time.
class UsedIds {
 public:
  // False when it was used before.
  bool insert(std::string_view id) {
    const std::size_t hash = std::hash<std::string_view>()(id);
    const auto at = std::lower_bound(hashes_.begin(), hashes_.end(), hash);
    if (at != hashes_.end() && *at == hash) return false;
    hashes_.insert(at, hash);
    return true;
  }

 private:
  std::vector<std::size_t> hashes_;  // in order
};

}  // namespace millrace::run
