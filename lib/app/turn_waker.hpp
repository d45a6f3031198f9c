// Passes the wake-ups of the engine thread on to the host, as seldom as its reader will not notice.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/drain_queue.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"

namespace millrace::app {

// What comes in quick succession crosses at once: a wake-up is passed on when the engine thread has
// nothing more to do, at the latest after a millisecond. While much comes, of whatever number of
// streams, a stream's pieces keep a distance that grows with it: a wake-up and each piece cost the
// host more than what they bring, and what waits is fewer and larger pieces. The streams take
// turns: a wake-up is for a part of them only, so that the host is never busy with all of them at
// once. A bulk of bytes never waits, nor does what hurry() was called for.
// Thread: wake and parts from any, on_output and hurry on the engine thread.
// Lifetime: loop and host outlive it.
class TurnWaker final : public Waker {
 public:
  TurnWaker(os::EventLoop& loop, Waker& host)
      : loop_(loop), host_(host), timer_(loop, [this] { pass_on(); }) {}

  void wake() override {
    if (!loop_.on_loop_thread()) return loop_.post([this] { wake(); });
    since_ = Clock::now();
    begin_count();
    if (const auto next = last_ + std::min(distance_, shortest);
        since_ < next && !timer_.is_running()) {
      timer_.start_at(next);
      return;
    }
    // The first turn asks the sockets again, the second handles what they had.
    loop_.post([this] { loop_.post([this] { look(); }); });
  }

  // Something is handed over.
  void on_output(std::size_t bytes) {
    bytes_ += bytes;
    ++outputs_;
    if (is_bulk() && timer_.is_running()) pass_on();
  }

  // What was handed over is what a person waits for: the first token of an answer.
  void hurry() {
    if (!timer_.is_running()) return;
    timer_.cancel();
    since_ = Clock::now();
    loop_.post([this] { loop_.post([this] { look(); }); });
  }

  // In how many wake-ups a host shall answer for all streams; see DrainQueue::due.
  [[nodiscard]] std::size_t parts() const { return parts_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  using Span = std::chrono::microseconds;
  static constexpr Span patience{1'000};
  static constexpr Span shortest{4'000};
  static constexpr Span longest{32'000};
  // Outputs in the shortest distance from which on wake-ups keep one. From there it grows with the
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
    const bool is_quiet = std::exchange(seen_, outputs_) == outputs_;
    if (is_quiet || is_bulk() || Clock::now() - since_ >= patience) {
      pass_on();
    } else {
      loop_.post([this] { look(); });
    }
  }

  void pass_on() {
    timer_.cancel();
    const auto now = Clock::now();
    const auto since_last = std::chrono::duration_cast<Span>(now - last_);
    last_ = now;
    if (last_ - measured_at_ >= shortest) {
      const auto spans = static_cast<std::uint64_t>((last_ - measured_at_) / shortest);
      const std::uint64_t outputs = (outputs_ - measured_) / spans;
      const auto share = static_cast<Span::rep>(std::min(outputs, busiest));
      distance_ =
          outputs < busy ? Span{0} : std::max(shortest, longest * share / Span::rep{busiest});
      measured_ = outputs_;
      measured_at_ = last_;
    }
    // A host that was late has the more to answer for.
    const auto parts = std::max(distance_ / std::max(since_last, shortest), Span::rep{1});
    parts_.store(is_bulk() ? 1 : static_cast<std::size_t>(parts), std::memory_order_relaxed);
    host_.wake();
  }

  os::EventLoop& loop_;
  Waker& host_;
  os::Timer timer_;
  Clock::time_point since_;        // when the wake-up that waits was asked for
  Clock::time_point last_;         // when the last one was passed on
  Clock::time_point measured_at_;  // when `measured_` was taken of `outputs_`
  Span distance_{0};
  std::uint64_t outputs_ = 0;
  std::uint64_t measured_ = 0;
  std::uint64_t counted_from_ = 0;  // `outputs_` at since_
  std::uint64_t seen_ = 0;
  std::size_t bytes_ = 0;  // since since_
  std::atomic<std::size_t> parts_ = 1;
};

}  // namespace millrace::app
