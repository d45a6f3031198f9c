#include "os/event_loop.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "os/blocked_signals.hpp"

namespace millrace::os {

namespace asio = boost::asio;

struct EventLoop::State {
  asio::io_context context{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
  std::atomic<std::thread::id> thread_id;
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {}

EventLoop::~EventLoop() {
  stop();
}

void EventLoop::start() {
  if (state_->thread.joinable()) return;
  state_->context.restart();
  state_->work.emplace(state_->context.get_executor());
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
  asio::post(state_->context, std::move(work));
}

bool EventLoop::on_loop_thread() const {
  return std::this_thread::get_id() == state_->thread_id;
}

asio::io_context& EventLoop::context() {
  return state_->context;
}

}  // namespace millrace::os
