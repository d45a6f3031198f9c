// Finds readers in JavaScript that take nothing of what waits for them: what they hold, and the
// producer behind it, would stay for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/drain_queue.hpp"
#include "base/result.hpp"
#include "os/timer.hpp"

namespace millrace::host {

// Thread: engine thread.
// Lifetime: as the stream's; `on_stalled` may end it.
class ReaderStall {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // `on_stalled` is called once the reader has left something unread for this long, late by a
  // quarter at most.
  ReaderStall(os::EventLoop& loop, DrainQueue& queue, DrainQueue::StreamId id, Milliseconds most,
              std::function<void()> on_stalled);

  // Something waits for the reader.
  void watch() {
    if (!timer_.is_running()) begin();
  }
  void cancel() { timer_.cancel(); }
  // Why its stream ends.
  [[nodiscard]] Error error() const;

 private:
  void begin();
  void look();

  DrainQueue& queue_;
  DrainQueue::StreamId id_;
  Milliseconds most_;
  std::function<void()> on_stalled_;
  std::uint64_t takes_ = 0;
  int looks_ = 0;  // since the reader took something
  os::Timer timer_;
};

}  // namespace millrace::host
