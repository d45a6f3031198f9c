#include "net/deadlines.hpp"

#include <algorithm>

namespace millrace::net {

using std::chrono::milliseconds;

Deadlines::Deadlines(const Timeouts& limits, TimePoint now)
    : limits_(limits), started_(now), phase_since_(now) {}

void Deadlines::connecting(TimePoint now) {
  phase_ = Phase::connecting;
  phase_since_ = now;
}

void Deadlines::connected(TimePoint now) {
  phase_ = Phase::waiting;
  phase_since_ = now;
  if (paused_since_) paused_since_ = now;
}

void Deadlines::received(TimePoint now) {
  phase_ = Phase::streaming;
  phase_since_ = now;
  if (paused_since_) paused_since_ = now;
}

void Deadlines::ended() {
  phase_ = Phase::ended;
}

void Deadlines::pause(TimePoint now) {
  if (!paused_since_) paused_since_ = now;
}

void Deadlines::resume(TimePoint now) {
  if (!paused_since_) return;
  if (phase_ != Phase::connecting) phase_since_ += now - *paused_since_;
  paused_since_.reset();
}

std::optional<Deadlines::TimePoint> Deadlines::phase_end() const {
  const bool stands_still = paused_since_.has_value() && phase_ != Phase::connecting;
  if (phase_ == Phase::ended || stands_still) return std::nullopt;
  const milliseconds limit = limit_of(phase_error());
  if (limit <= milliseconds::zero()) return std::nullopt;
  return phase_since_ + limit;
}

std::optional<Deadlines::TimePoint> Deadlines::total_end() const {
  if (limits_.total <= milliseconds::zero()) return std::nullopt;
  return started_ + limits_.total;
}

Errc Deadlines::phase_error() const {
  switch (phase_) {
    case Phase::connecting: return Errc::connect_timeout;
    case Phase::waiting: return Errc::first_byte_timeout;
    case Phase::streaming:
    case Phase::ended: return Errc::idle_timeout;
  }
  return Errc::internal;
}

milliseconds Deadlines::limit_of(Errc timeout) const {
  switch (timeout) {
    case Errc::connect_timeout: return limits_.connect;
    case Errc::first_byte_timeout: return limits_.first_byte;
    case Errc::idle_timeout: return limits_.idle;
    case Errc::total_timeout: return limits_.total;
    default: return milliseconds::zero();
  }
}

std::optional<Deadlines::TimePoint> Deadlines::next() const {
  const auto phase = phase_end();
  const auto total = total_end();
  if (phase && total) return std::min(*phase, *total);
  return phase ? phase : total;
}

std::optional<Errc> Deadlines::expired(TimePoint now) const {
  if (const auto end = total_end(); end && now >= *end) return Errc::total_timeout;
  if (const auto end = phase_end(); end && now >= *end) return phase_error();
  return std::nullopt;
}

std::optional<milliseconds> Deadlines::left_to_connect(TimePoint now) const {
  if (limits_.connect <= milliseconds::zero()) return std::nullopt;
  const auto left = std::chrono::ceil<milliseconds>(phase_since_ + limits_.connect - now);
  return std::max(left, milliseconds{1});
}

}  // namespace millrace::net
