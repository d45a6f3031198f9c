// Whether the store of a server answers and takes what runs record.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "os/event_loop.hpp"
#include "os/timer.hpp"
#include "store/writer.hpp"

namespace millrace::api {

// How often the store is looked at, and for how long.
struct ReadinessTimes {
  // Anybody may send such requests: the store is looked at once in this time.
  std::chrono::milliseconds valid_for{1000};
  // The look waits behind what is being written. After this time the answer is that of the look
  // before, or of a read of the store.
  std::chrono::milliseconds longest_wait{250};
  // A store that takes nothing for so long does not work.
  std::chrono::milliseconds longest_look{10'000};
};

// Thread: engine thread.
// Lifetime: the loop outlives it.
class Readiness final : public std::enable_shared_from_this<Readiness> {
 public:
  using Done = std::function<void(bool is_working)>;

  Readiness(std::shared_ptr<store::Writer> writer, os::EventLoop& loop, ReadinessTimes times = {});

  void look(Done done);

 private:
  using Clock = os::Timer::Clock;
  void begin();
  void end(bool is_working);
  void end_early();
  void report(bool is_working);

  std::shared_ptr<store::Writer> writer_;
  os::EventLoop& loop_;
  ReadinessTimes times_;
  std::optional<bool> seen_;
  Clock::time_point seen_at_;
  bool is_looking_ = false;
  Clock::time_point began_;
  std::vector<Done> waiting_;
  os::Timer late_;
};

}  // namespace millrace::api
