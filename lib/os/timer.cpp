#include "os/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::os {

// A wait that is due before the timer is left alone: most timers guard work that ends long before,
// and are set again and again.
struct Timer::State : std::enable_shared_from_this<Timer::State> {
  State(EventLoop& loop, std::function<void()> call)
      : timer(loop.context()), fire(std::move(call)) {}

  void wait() {
    is_waiting = true;
    const unsigned current = ++generation;
    timer.expires_at(fires_at);
    timer.async_wait(
        [self = shared_from_this(), current](const boost::system::error_code& stopped) {
          if (!stopped && self->generation == current) self->waited();
        });
  }

  void waited() {
    is_waiting = false;
    if (!running) return;
    if (fires_at > timer.expiry()) return wait();
    running = false;
    fire();
  }

  boost::asio::steady_timer timer;
  std::function<void()> fire;
  Clock::time_point fires_at;
  // A handler that is already queued when its wait is given up still runs; the number tells it so.
  unsigned generation = 0;
  bool running = false;
  bool is_waiting = false;
};

Timer::Timer(EventLoop& loop, std::function<void()> fire)
    : state_(std::make_shared<State>(loop, std::move(fire))) {}

Timer::~Timer() {
  ++state_->generation;
  state_->running = false;
  state_->timer.cancel();
}

void Timer::start_at(Clock::time_point at) {
  state_->running = true;
  state_->fires_at = at;
  if (!state_->is_waiting || at < state_->timer.expiry()) state_->wait();
}

void Timer::cancel() {
  state_->running = false;
}

bool Timer::is_running() const {
  return state_->running;
}

Timer::Clock::time_point Timer::fires_at() const {
  return state_->fires_at;
}

}  // namespace millrace::os
