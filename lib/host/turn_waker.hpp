// Passes the wake-ups of the engine thread on to the host, as seldom as its reader will not notice.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/drain_queue.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"

namespace millrace::host {

// What comes in quick succession crosses at once: a wake-up is passed on when the engine thread has
// nothing more to do, at the latest after a millisecond. While much comes, of whatever number of
// streams, wake-ups keep a distance, and what comes of a stream may lie for a pace that grows with
// it: a wake-up and each piece cost both threads more than what they bring, and what waits is fewer
// and larger pieces. A bulk of bytes never waits, nor does what flush() is called for, as for a
// stream that pauses until it is read.
// Thread: wake, wake_at_once and flush from any, everything else on the engine thread.
// Lifetime: loop and host outlive it.
class TurnWaker final : public Waker {
 public:
  TurnWaker(os::EventLoop& loop, Waker& host)
      : loop_(loop), host_(host), timer_(loop, [this] { pass_on(); }) {}

  void wake() override {
    if (!loop_.on_loop_thread()) return loop_.post([this] { wake(); });
    is_requested_ = true;
    since_ = Clock::now();
    begin_count();
    if (last_ && !timer_.is_running()) {
      const auto next = *last_ + std::min<Span>(pace_, shortest);
      if (since_ < next) return timer_.start_at(next);
    }
    // The first turn asks the sockets again, the second handles what they had.
    loop_.post([this] { loop_.post([this] { look(); }); });
  }

  void wake_at_once() override {
    if (!loop_.on_loop_thread()) return loop_.post([this] { wake_at_once(); });
    begin_count();
    pass_on();
  }

  // A wake-up that was not passed on yet is.
  void flush() override {
    if (!loop_.on_loop_thread()) return loop_.post([this] { flush(); });
    if (is_requested_) pass_on();
  }

  // Something is handed over.
  void on_output(std::size_t bytes) {
    bytes_ += bytes;
    ++outputs_;
    if (is_bulk() && timer_.is_running()) pass_on();
  }

  // How long what comes of a stream may lie before it is looked at: a power of two, so that those
  // who share it out keep their places when it changes.
  [[nodiscard]] std::chrono::microseconds pace() const { return pace_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Span = std::chrono::microseconds;
  static constexpr Span grace_period{1'000};
  static constexpr Span shortest{4'000};
  static constexpr Span longest{64'000};
  // Outputs in the shortest span from which on there is a pace. From there it grows with the
  // outputs, up to the longest at busiest.
  static constexpr std::uint64_t busy = 8;
  static constexpr std::uint64_t busiest = 200;
  static constexpr std::size_t bulk_bytes = std::size_t{128} << 10U;
  static constexpr std::size_t large_output_bytes = 2048;

  // Much of few streams, not little of many.
  [[nodiscard]] bool is_bulk() const {
    return bytes_ >= bulk_bytes && bytes_ / (outputs_ - counted_from_) >= large_output_bytes;
  }

  void begin_count() {
    bytes_ = 0;
    counted_from_ = outputs_;
    seen_ = outputs_;
  }

  void look() {
    if (!is_requested_) return;
    const bool is_quiet = std::exchange(seen_, outputs_) == outputs_;
    if (is_quiet || is_bulk() || Clock::now() - since_ >= grace_period) {
      pass_on();
    } else {
      loop_.post([this] { look(); });
    }
  }

  void pass_on() {
    is_requested_ = false;
    timer_.cancel();
    const auto now = Clock::now();
    last_ = now;
    if (now - measured_at_ >= shortest) measure(now);
    host_.wake();
  }

  void measure(Clock::time_point now) {
    const auto spans = static_cast<std::uint64_t>((now - measured_at_) / shortest);
    const std::uint64_t outputs = std::min((outputs_ - measured_) / spans, busiest);
    pace_ = Span{0};
    if (outputs >= busy) {
      const Span wanted = longest * static_cast<Span::rep>(outputs) / Span::rep{busiest};
      pace_ = shortest;
      while (pace_ < wanted) pace_ *= 2;
    }
    measured_ = outputs_;
    measured_at_ = now;
  }

  os::EventLoop& loop_;
  Waker& host_;
  os::Timer timer_;
  Clock::time_point since_;                       // when the wake-up that waits was asked for
  std::optional<Clock::time_point> last_;         // when the last one was passed on
  Clock::time_point measured_at_ = Clock::now();  // when `measured_` was taken of `outputs_`
  Span pace_{0};
  std::uint64_t outputs_ = 0;
  std::uint64_t measured_ = 0;
  std::uint64_t counted_from_ = 0;  // `outputs_` at since_
  std::uint64_t seen_ = 0;
  std::size_t bytes_ = 0;      // since since_
  bool is_requested_ = false;  // a wake-up waits to be passed on
};

}  // namespace millrace::host
