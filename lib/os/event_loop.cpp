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
#include "os/posts_together.hpp"
#include "os/wake_up.hpp"

namespace millrace::os {

namespace asio = boost::asio;

namespace {

// Of this thread's PostsTogether; null without one.
thread_local std::vector<std::function<void()>>* held_rings = nullptr;

}  // namespace

// Posted work waits in a list of its own: Asio wakes its thread while it holds the lock that the
// thread takes first, so that each post to a sleeping loop would put it to sleep once more.
struct LoopHandle::Inbox {
  explicit Inbox(asio::io_context& its_context) : context(its_context) {}

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

  void end() {
    // What is destroyed may post once more.
    for (std::vector<std::function<void()>> unrun;; unrun.clear()) {
      const std::lock_guard lock(mutex);
      is_over = posted.empty();
      if (is_over) break;
      unrun.swap(posted);
    }
  }

  [[nodiscard]] bool on_loop_thread() const { return std::this_thread::get_id() == thread_id; }

  asio::io_context& context;  // for the loop's own thread
  WakeUp wake_up;             // its descriptor is open for as long as one may ring
  std::atomic<std::thread::id> thread_id;
  std::mutex mutex;
  std::vector<std::function<void()>> posted;  // guarded by mutex
  bool is_rung = false;                       // guarded by mutex: what is posted will be run
  bool is_over = false;                       // guarded by mutex
  std::vector<std::function<void()>> running;
};

void LoopHandle::post(std::function<void()> work) const {
  {
    const std::lock_guard lock(inbox_->mutex);
    if (inbox_->is_over) return;
    inbox_->posted.push_back(std::move(work));
    if (std::exchange(inbox_->is_rung, true)) return;
  }
  if (inbox_->on_loop_thread()) {
    asio::post(inbox_->context, [inbox = inbox_.get()] { inbox->run_posted(); });
  } else if (held_rings != nullptr) {
    held_rings->emplace_back([inbox = inbox_] { inbox->wake_up.ring(); });
  } else {
    inbox_->wake_up.ring();
  }
}

PostsTogether::PostsTogether() {
  if (held_rings == nullptr) held_rings = &rings_;
}

PostsTogether::~PostsTogether() {
  if (held_rings != &rings_) return;
  held_rings = nullptr;
  for (const std::function<void()>& ring : rings_) ring();
}

struct EventLoop::State {
  State()
      : handle(std::make_shared<LoopHandle::Inbox>(context)),
        bell(context, handle.inbox_->wake_up.listener()) {
    listen();
  }
  // The inbox closes what rings.
  ~State() { bell.release(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void listen() {
    bell.async_read_some(asio::buffer(rings),
                         [this](const boost::system::error_code& error, std::size_t) {
                           if (error) return;
                           handle.inbox_->run_posted();
                           listen();
                         });
  }

  asio::io_context context{1};
  LoopHandle handle;
  asio::posix::stream_descriptor bell;
  std::array<char, WakeUp::read_bytes> rings{};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
};

EventLoop::EventLoop() try : state_(std::make_unique<State>()) {
} catch (const boost::system::system_error& failure) {
  // Those who do not see Boost tell by the number what is missing.
  throw std::system_error(failure.code(), failure.what());
}

EventLoop::~EventLoop() {
  stop();
  state_->handle.inbox_->end();
}

void EventLoop::start() {
  if (state_->thread.joinable()) return;
  state_->context.restart();
  state_->work.emplace(state_->context.get_executor());
  LoopHandle::Inbox& inbox = *state_->handle.inbox_;
  inbox.wake_up.ring();
  const BlockedSignals blocked;
  state_->thread = std::thread([&inbox] {
    inbox.thread_id = std::this_thread::get_id();
    inbox.context.run();
    // Another thread may get the same one.
    inbox.thread_id = std::thread::id();
  });
}

void EventLoop::stop() {
  state_->work.reset();
  state_->context.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

void EventLoop::post(std::function<void()> work) {
  state_->handle.post(std::move(work));
}

LoopHandle EventLoop::handle() const {
  return state_->handle;
}

bool EventLoop::on_loop_thread() const {
  return state_->handle.inbox_->on_loop_thread();
}

asio::io_context& EventLoop::context() {
  return state_->context;
}

}  // namespace millrace::os
