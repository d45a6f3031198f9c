// One thread that runs an Asio io_context: the engine thread.
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace millrace::os {

// Runs posted work one at a time on its own thread, which blocks all signals.
// Thread: post, stop and on_loop_thread from any; everything else from the owner.
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
  [[nodiscard]] bool on_loop_thread() const;
  // For the rooms that drive sockets and timers.
  boost::asio::io_context& context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::os
