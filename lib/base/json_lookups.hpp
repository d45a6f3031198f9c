// Where members of a tree were found. The records of a stream have one shape for long, so that the
// same members are looked up at the same places of each. Private to json*.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::json::detail {

// A number below 64 for the mark of a key. Of many factors this one gives the keys that adapters
// look for the fewest numbers of keys that deltas have.
constexpr std::uint32_t key_slot(std::uint32_t mark) {
  return (mark * 0xF93897B1U) >> 26U;
}

// Good while the keys of the tree stay the same.
// Thread: any, one at a time.
class Lookups {
 public:
  struct Entry {
    std::uint32_t mark = 0;    // of the key
    std::uint16_t object = 0;  // 0: no entry
    std::uint16_t found = 0;   // the value behind the first key of that mark; 0: there is none
  };

  void clear() { entries_.fill({}); }
  // The entry of a key in an object: it is another one's where its members differ.
  [[nodiscard]] Entry& at(std::uint32_t object, std::uint32_t mark) {
    return entries_[(object * 7U + key_slot(mark)) % entries_.size()];
  }

 private:
  std::array<Entry, 64> entries_{};
};

}  // namespace millrace::json::detail
