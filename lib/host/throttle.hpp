// Lets what a stream says lie for a moment, so that its reader is woken less often.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "event/event.hpp"
#include "os/timer.hpp"

namespace millrace::host {

// To wake a reader costs it more than what a few tokens bring: pieces of texts are handed over once
// in a span, together. What is no such piece is handed over at once, with all that waits before it;
// so is the first piece behind it, one that came much later than the one before, and what is long.
// Thread: engine thread.
class Throttle {
 public:
  using Span = std::chrono::milliseconds;
  static constexpr Span usual{50};

  // `due` is called when what was held is to be handed over; a span of 0 holds nothing.
  Throttle(os::EventLoop& loop, Span span, std::function<void()> due)
      : loop_(loop), span_(span), due_(std::move(due)) {}

  void note(const event::Event& event) {
    if (const auto* text = std::get_if<event::TextDelta>(&event.body)) return add(text->delta);
    if (const auto* reasoning_part = std::get_if<event::ReasoningDelta>(&event.body)) {
      return add(reasoning_part->delta);
    }
    if (const auto* arguments = std::get_if<event::ToolArgs>(&event.body)) {
      return add(arguments->delta);
    }
    flush();
  }
  // Something else came.
  void flush() {
    is_hasty_ = true;
    ends_in_text_ = false;
  }

  // Whether what there is waits on.
  [[nodiscard]] bool holds() {
    if (is_hasty_ || span_.count() == 0) return false;
    const auto now = os::Timer::Clock::now();
    // Who comes every now and then is as good as punctual.
    if (!last_ || now - *last_ >= span_ - span_ / 10) return false;
    if (!timer_) timer_.emplace(loop_, due_);
    if (!timer_->is_running()) timer_->start_at(*last_ + span_);
    return true;
  }

  // All that there was is handed over.
  void handed_over() {
    if (span_.count() == 0) return;
    if (timer_) timer_->cancel();
    is_hasty_ = false;
    bytes_ = 0;
    last_.reset();
    if (ends_in_text_) last_ = os::Timer::Clock::now();
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{16} << 10U;

  void add(std::string_view text) {
    bytes_ += text.size();
    ends_in_text_ = true;
    is_hasty_ = is_hasty_ || bytes_ >= most_bytes;
  }

  os::EventLoop& loop_;
  Span span_;
  std::function<void()> due_;
  std::optional<os::Timer> timer_;
  std::optional<os::Timer::Clock::time_point> last_;  // when a piece of a text was handed over last
  std::size_t bytes_ = 0;                             // of what waits
  bool is_hasty_ = false;
  bool ends_in_text_ = false;  // what waits, or was handed over
};

}  // namespace millrace::host
