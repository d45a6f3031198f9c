// What the runs of a process need as time goes by: sleepers wake up, approvals expire, and runs
// that no process can run are parked with the reason. What retention is over for is removed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "os/timer.hpp"
#include "run/durable/run_registry.hpp"
#include "store/writer.hpp"

namespace millrace::run {

struct UpkeepOptions {
  std::chrono::milliseconds longest{usual_look_ms};  // between two looks
  // How long a run may wait for its agent to be registered before it is parked.
  std::chrono::milliseconds unclaimed{std::chrono::seconds{10}};
  store::SweepPolicy retention = {};
};

// Thread: engine thread.
class RunUpkeep final : public std::enable_shared_from_this<RunUpkeep> {
 public:
  RunUpkeep(os::EventLoop& loop, std::shared_ptr<store::Writer> writer,
            std::shared_ptr<RunRegistry> registry, UpkeepOptions options = {});

  void start();
  // Something may be due earlier now.
  void look();

 private:
  struct Seen;
  void take(const Seen& seen);
  void wait(std::chrono::milliseconds time);

  os::EventLoop& loop_;
  std::shared_ptr<store::Writer> writer_;
  std::shared_ptr<RunRegistry> registry_;
  UpkeepOptions options_;
  std::optional<std::int64_t> due_;     // what was due in the last look
  std::chrono::milliseconds pause_{0};  // before the next look, while some are due
  bool is_looking_ = false;
  bool looks_again_ = false;
  os::Timer next_;
  os::Timer unclaimed_;
};

}  // namespace millrace::run
