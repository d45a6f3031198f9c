#include "os/event_loop.hpp"

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "os/blocked_signals.hpp"
#include "os/wake_up.hpp"

namespace millrace::os {

namespace asio = boost::asio;

// Posted work waits in a list of its own: Asio wakes its thread while it holds the lock that the
// thread takes first, so that each post to a sleeping loop would put it to sleep once more.
struct EventLoop::State {
  State() : bell(context, wake_up.take_listener()) { listen(); }

  void listen() {
    bell.async_read_some(asio::buffer(rings),
                         [this](const boost::system::error_code& error, std::size_t) {
                           if (error) return;
                           run_posted();
                           listen();
                         });
  }

  void run_posted() {
    {
      const std::lock_guard lock(mutex);
      running.swap(posted);
      is_rung = false;
    }
    std::size_t done = 0;
    while (done < running.size() && !context.stopped()) std::exchange(running[done++], nullptr)();
    if (done < running.size()) put_back(done);
    running.clear();
  }

  // Work of a loop that was stopped in the middle waits for its next start.
  void put_back(std::size_t done) {
    const std::lock_guard lock(mutex);
    const auto first = running.begin() + static_cast<std::ptrdiff_t>(done);
    posted.insert(posted.begin(), std::move_iterator(first), std::move_iterator(running.end()));
  }

  asio::io_context context{1};
  WakeUp wake_up;
  asio::posix::stream_descriptor bell;
  std::array<char, WakeUp::read_bytes> rings{};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
  std::atomic<std::thread::id> thread_id;
  std::mutex mutex;
  std::vector<std::function<void()>> posted;  // guarded by mutex
  bool is_rung = false;                       // guarded by mutex: what is posted will be run
  std::vector<std::function<void()>> running;
};

EventLoop::EventLoop() try : state_(std::make_unique<State>()) {
} catch (const boost::system::system_error& failure) {
  // Those who do not see Boost tell by the number what is missing.
  throw std::system_error(failure.code(), failure.what());
}

EventLoop::~EventLoop() {
  stop();
  // What is destroyed may post once more.
  for (std::vector<std::function<void()>> unrun;; unrun.clear()) {
    const std::lock_guard lock(state_->mutex);
    if (state_->posted.empty()) break;
    unrun.swap(state_->posted);
  }
}

void EventLoop::start() {
  if (state_->thread.joinable()) return;
  state_->context.restart();
  state_->work.emplace(state_->context.get_executor());
  state_->wake_up.ring();
  const BlockedSignals blocked;
  state_->thread = std::thread([state = state_.get()] {
    state->thread_id = std::this_thread::get_id();
    state->context.run();
  });
}

void EventLoop::stop() {
  state_->work.reset();
  state_->context.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

void EventLoop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->posted.push_back(std::move(work));
    if (std::exchange(state_->is_rung, true)) return;
  }
  if (on_loop_thread()) {
    asio::post(state_->context, [state = state_.get()] { state->run_posted(); });
  } else {
    state_->wake_up.ring();
  }
}

bool EventLoop::on_loop_thread() const {
  return std::this_thread::get_id() == state_->thread_id;
}

asio::io_context& EventLoop::context() {
  return state_->context;
}

}  // namespace millrace::os
