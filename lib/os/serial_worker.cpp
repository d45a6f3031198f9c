#include "os/serial_worker.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "os/blocked_signals.hpp"

namespace millrace::os {

struct SerialWorker::State {
  explicit State(Turn its_turn) : turn(std::move(its_turn)) {}
  void serve();

  Turn turn;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_woken = false;
  bool is_closing = false;
  std::thread thread;
};

void SerialWorker::State::serve() {
  std::unique_lock lock(mutex);
  std::chrono::milliseconds timeout = forever;
  for (;;) {
    const auto is_wanted = [&] { return is_woken || is_closing; };
    if (timeout < std::chrono::milliseconds::zero()) {
      changed.wait(lock, is_wanted);
    } else {
      changed.wait_for(lock, timeout, is_wanted);
    }
    is_woken = false;
    const bool is_last = is_closing;
    lock.unlock();
    timeout = turn(is_last);
    lock.lock();
    if (is_last) return;
  }
}

SerialWorker::SerialWorker(Turn turn) : state_(std::make_shared<State>(std::move(turn))) {
  const BlockedSignals blocked;
  state_->thread = std::thread([state = state_] { state->serve(); });
}

SerialWorker::~SerialWorker() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closing = true;
  }
  state_->changed.notify_one();
  // A thread cannot wait for itself.
  on_its_thread() ? state_->thread.detach() : state_->thread.join();
}

// The turn that this leads to may end the worker before this returns.
void SerialWorker::wake() {
  const auto state = state_;
  {
    const std::lock_guard lock(state->mutex);
    state->is_woken = true;
  }
  state->changed.notify_one();
}

bool SerialWorker::on_its_thread() const {
  return std::this_thread::get_id() == state_->thread.get_id();
}

}  // namespace millrace::os
