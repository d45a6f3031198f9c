// The clocks of one transfer, without a clock of their own: time comes in as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "net/client.hpp"

namespace millrace::net {

// Knows which limit of Timeouts runs in which phase and when it is exceeded.
class Deadlines {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Deadlines(const Timeouts& limits, TimePoint now);

  void connecting(TimePoint now);  // a hop begins
  void connected(TimePoint now);   // the request can be sent
  void received(TimePoint now);    // bytes came
  void ended();                    // only the total clock still runs
  // While paused the clocks that measure the peer stand still; connect and total run on.
  void pause(TimePoint now);
  void resume(TimePoint now);

  // The moment at which something can expire.
  [[nodiscard]] std::optional<TimePoint> next() const;
  // The limit that is exceeded, if one is.
  [[nodiscard]] std::optional<Errc> expired(TimePoint now) const;
  [[nodiscard]] std::chrono::milliseconds limit_of(Errc timeout) const;
  // What is left for the connection, for what makes it; none without a limit.
  [[nodiscard]] std::optional<std::chrono::milliseconds> left_to_connect(TimePoint now) const;
  [[nodiscard]] bool is_connecting() const { return phase_ == Phase::connecting; }
  [[nodiscard]] bool is_streaming() const { return phase_ == Phase::streaming; }

 private:
  enum class Phase : std::uint8_t { connecting, waiting, streaming, ended };

  [[nodiscard]] std::optional<TimePoint> phase_end() const;
  [[nodiscard]] std::optional<TimePoint> total_end() const;
  [[nodiscard]] Errc phase_error() const;

  Timeouts limits_;
  TimePoint started_;
  TimePoint phase_since_;  // moved forward by the length of each pause
  std::optional<TimePoint> paused_since_;
  Phase phase_ = Phase::connecting;
};

}  // namespace millrace::net
