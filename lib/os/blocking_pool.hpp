// Calls of the system that may block - name lookups, files, file systems of other machines - on a
// bounded number of threads beside the engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"

namespace millrace::os {

class EventLoop;

// Threads start when they are needed and leave when they have had nothing to do for a while.
// Thread: engine thread; destroy there or after the loop has stopped, and before the loop.
class BlockingPool {
 public:
  using Ticket = std::uint64_t;
  // Runs on the engine thread.
  using Done = std::function<void()>;
  // Runs on a thread of the pool. Throws nothing.
  using Work = std::function<Done()>;

  BlockingPool(EventLoop& loop, std::size_t max_threads, std::size_t max_waiting);
  // Never waits for work: a thread that hangs in it is left to itself and what it gives is dropped.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // What `work` gives is called on the engine thread, never before this returns.
  // Errors: too_much_work when others wait in all places, or no thread can be started.
  Result<Ticket> run(Work work);
  // True when the work had not begun, and so never will.
  bool withdraw(Ticket ticket);

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::size_t max_threads_;
  std::size_t max_waiting_;
  Ticket last_ticket_ = 0;
};

}  // namespace millrace::os
