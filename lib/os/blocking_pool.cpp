#include "os/blocking_pool.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "os/blocked_signals.hpp"
#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

constexpr std::chrono::seconds idle_thread_leaves_after{30};

}  // namespace

// What the threads share with the engine thread.
struct BlockingPool::State {
  struct Task {
    Ticket ticket;
    Work work;
  };

  explicit State(EventLoop& its_loop) : loop(its_loop) {}

  // The state is passed by value: a thread that hangs outlives the pool.
  static void serve(std::shared_ptr<State> state);

  EventLoop& loop;  // only while not closed
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> queue;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool closed = false;
};

void BlockingPool::State::serve(std::shared_ptr<State> state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    ++state->idle;
    const bool woken = state->changed.wait_for(
        lock, idle_thread_leaves_after, [&] { return state->closed || !state->queue.empty(); });
    --state->idle;
    if (state->closed || !woken) break;
    Work work = std::move(state->queue.front().work);
    state->queue.pop_front();
    lock.unlock();
    Done done = work();
    work = nullptr;
    lock.lock();
    if (state->closed) break;
    state->loop.post([weak = std::weak_ptr(state), done = std::move(done)] {
      const auto alive = weak.lock();
      if (!alive) return;
      std::unique_lock check(alive->mutex);
      const bool is_wanted = !alive->closed;
      check.unlock();
      if (is_wanted) done();
    });
  }
  --state->threads;
  state->changed.notify_all();
}

BlockingPool::BlockingPool(EventLoop& loop, std::size_t max_threads, std::size_t max_waiting)
    : state_(std::make_shared<State>(loop)),
      max_threads_(std::max<std::size_t>(max_threads, 1)),
      max_waiting_(max_waiting) {}

BlockingPool::~BlockingPool() {
  const auto state = state_;
  std::unique_lock lock(state->mutex);
  state->closed = true;
  state->queue.clear();
  state->changed.notify_all();
  // Idle threads leave at once; waiting for them lets a program end without threads of ours.
  state->changed.wait(lock, [&] { return state->idle == 0; });
}

Result<BlockingPool::Ticket> BlockingPool::run(Work work) {
  const std::lock_guard lock(state_->mutex);
  auto& queue = state_->queue;
  if (queue.size() >= max_waiting_) {
    return make_error(Errc::too_much_work, "The queue of the thread pool is full (" +
                                               std::to_string(max_waiting_) + " waiting).");
  }
  queue.push_back({++last_ticket_, std::move(work)});
  if (state_->idle < queue.size() && state_->threads < max_threads_) {
    const BlockedSignals blocked;
    try {
      std::thread(State::serve, state_).detach();
      ++state_->threads;
    } catch (const std::system_error& failure) {
      if (state_->threads == 0) {
        queue.pop_back();
        return make_error(Errc::too_much_work,
                          "The system could not start a thread; make fewer calls at a time.",
                          failure.what());
      }
      // One that runs takes it.
    }
  }
  state_->changed.notify_one();
  return last_ticket_;
}

bool BlockingPool::withdraw(Ticket ticket) {
  const std::lock_guard lock(state_->mutex);
  return std::erase_if(state_->queue,
                       [ticket](const State::Task& task) { return task.ticket == ticket; }) > 0;
}

}  // namespace millrace::os
