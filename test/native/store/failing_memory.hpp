// Lets allocations of SQLite fail.
#pragma once

namespace millrace::store {

// While it lives, the allocations of SQLite on this thread are counted, and those fail that it is
// to let fail.
// Thread: one.
class FailingMemory {
 public:
  // Lets none fail.
  FailingMemory();
  // Lets the allocation of this number fail, counted from 1, or it and all behind it.
  FailingMemory(int at, bool is_for_good);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  [[nodiscard]] int count() const;
};

}  // namespace millrace::store
