// The ids that a reader of a run has seen. A model may repeat those of an earlier turn.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace millrace::run {

// Keeps a number of each, not its text: a run that waits has some dozens. Of two ids with one
// hash the later counts as used, and readers get another one.
// Thread: any, one at a time.
class UsedIds {
 public:
  // False when it was used before.
  bool insert(std::string_view id) {
    return hashes_.insert(std::hash<std::string_view>()(id)).second;
  }

 private:
  std::unordered_set<std::size_t> hashes_;
};

}  // namespace millrace::run
