// A restartable one-shot timer of the engine thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace millrace::os {

class EventLoop;

// Calls one function at a point in time, unless it is restarted, cancelled or destroyed before.
// Thread: engine thread. `fire` may restart, cancel or destroy the timer.
class Timer {
 public:
  using Clock = std::chrono::steady_clock;

  Timer(EventLoop& loop, std::function<void()> fire);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start_at(Clock::time_point at);
  void cancel();
  [[nodiscard]] bool is_running() const;
  // Meaningful while the timer runs.
  [[nodiscard]] Clock::time_point fires_at() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the waiting handler, which may outlive the timer
};

}  // namespace millrace::os
