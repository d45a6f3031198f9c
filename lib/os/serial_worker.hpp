// One thread for work that blocks and must keep its order: the writer of a store.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace millrace::os {

// Runs one function again and again while it is asked to, on a thread that blocks all signals.
// Thread: wake from any; everything else from the owner, who may be on the worker's own thread.
class SerialWorker {
 public:
  // Called on the worker's thread after each wake-up. Gives how long to wait for the next one at
  // most; nothing is forever. Throws nothing.
  using Turn = std::function<std::chrono::milliseconds(bool is_closing)>;
  static constexpr std::chrono::milliseconds forever{-1};

  explicit SerialWorker(Turn turn);
  // Lets it take a last turn, and waits for its end. On its own thread, within a turn, it does not
  // wait: what the turn uses has to be held by the turn.
  ~SerialWorker();
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  // A wake-up during a turn leads to another turn.
  void wake();
  [[nodiscard]] bool on_its_thread() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace millrace::os
