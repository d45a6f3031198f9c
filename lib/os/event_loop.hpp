// One thread that runs an Asio io_context: the engine thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace boost::asio {
class io_context;
}

namespace millrace::os {

// Posts to a loop that may have ended.
// Thread: any.
class LoopHandle {
 public:
  // As EventLoop::post; destroys the work, unrun and on the caller's thread, once the loop is gone.
  void post(std::function<void()> work) const;

 private:
  friend class EventLoop;
  struct Inbox;
  explicit LoopHandle(std::shared_ptr<Inbox> inbox) : inbox_(std::move(inbox)) {}

  std::shared_ptr<Inbox> inbox_;
};

// Runs posted work one at a time on its own thread, which blocks all signals.
// Thread: post, handle, stop and on_loop_thread from any; everything else from the owner.
// Lifetime: what was posted and not run when the loop stops is destroyed unrun.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Starts the thread; does nothing when it runs.
  void start();
  // Stops the loop and joins its thread. Must not be called from the loop's own thread.
  void stop();
  void post(std::function<void()> work);
  // For work on other threads that may outlive the loop.
  [[nodiscard]] LoopHandle handle() const;
  [[nodiscard]] bool on_loop_thread() const;
  // For the rooms that drive sockets and timers.
  boost::asio::io_context& context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::os
