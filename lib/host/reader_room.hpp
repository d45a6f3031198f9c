// How much of a recorded run waits for its reader in JavaScript. What it does not take can be read
// from the store again: it begins with little, and gets more at a time as it takes what is there.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/drain_queue.hpp"

namespace millrace::host {

// Thread: engine thread.
class ReaderRoom {
 public:
  ReaderRoom(DrainQueue& queue, DrainQueue::StreamId id) : queue_(queue), id_(id) {
    queue_.allow(id_, bytes_);
  }

  // Units: bytes.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // The reader took all that waited.
  void grow() {
    bytes_ = std::min(2 * bytes_, most_bytes);
    queue_.allow(id_, bytes_);
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{128} << 10U;

  DrainQueue& queue_;
  DrainQueue::StreamId id_;
  std::size_t bytes_ = std::size_t{8} << 10U;
};

}  // namespace millrace::host
