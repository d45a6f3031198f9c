#include "os/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::os {

struct Timer::State {
  State(EventLoop& loop, std::function<void()> call)
      : timer(loop.context()), fire(std::move(call)) {}

  boost::asio::steady_timer timer;
  std::function<void()> fire;
  // A handler that is already queued when the timer is cancelled still runs; the number tells it
  // so.
  unsigned generation = 0;
  bool running = false;
};

Timer::Timer(EventLoop& loop, std::function<void()> fire)
    : state_(std::make_shared<State>(loop, std::move(fire))) {}

Timer::~Timer() {
  cancel();
}

void Timer::start_at(Clock::time_point at) {
  const unsigned generation = ++state_->generation;
  state_->running = true;
  state_->timer.expires_at(at);
  state_->timer.async_wait([state = state_, generation](const boost::system::error_code& stopped) {
    if (stopped || state->generation != generation) return;
    state->running = false;
    state->fire();
  });
}

void Timer::cancel() {
  ++state_->generation;
  if (!std::exchange(state_->running, false)) return;
  state_->timer.cancel();
}

bool Timer::is_running() const {
  return state_->running;
}

Timer::Clock::time_point Timer::fires_at() const {
  return state_->timer.expiry();
}

}  // namespace millrace::os
