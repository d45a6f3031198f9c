#include "host/reader_stall.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace millrace::host {
namespace {

constexpr int looks_of_a_stall = 4;

}  // namespace

ReaderStall::ReaderStall(os::EventLoop& loop, DrainQueue& queue, DrainQueue::StreamId id,
                         Milliseconds most, std::function<void()> on_stalled)
    : queue_(queue), id_(id), most_(most), on_stalled_(std::move(on_stalled)), timer_(loop, [this] {
        look();
      }) {}

void ReaderStall::begin() {
  const Milliseconds between = std::max(most_ / looks_of_a_stall, Milliseconds(1));
  timer_.start_at(os::Timer::Clock::now() + between);
}

void ReaderStall::look() {
  const auto [has_unread, takes] = queue_.reading(id_);
  const bool has_taken = std::exchange(takes_, takes) != takes;
  looks_ = has_taken || !has_unread ? 0 : looks_ + 1;
  if (looks_ == looks_of_a_stall) return on_stalled_();
  if (has_unread) begin();
}

Error ReaderStall::error() const {
  return make_error(Errc::connection_lost,
                    "The reader of the answer took nothing for " + std::to_string(most_.count()) +
                        " ms, and its stream was ended. A stream of a job or a run goes on where "
                        "its reader was: with `Last-Event-ID` or `after`.");
}

}  // namespace millrace::host
