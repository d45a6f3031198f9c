// The time of runs: what it is now, and waits. A test moves its own by hand.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "model/call/call.hpp"

namespace millrace::model {

// Thread: engine thread.
class TimeSource {
 public:
  // One that runs out calls its function once, unless it is started again, cancelled or destroyed
  // before. The function may do each of these.
  class Wait {
   public:
    virtual ~Wait() = default;
    virtual void start(std::chrono::milliseconds time) = 0;
    virtual void cancel() = 0;
  };

  virtual ~TimeSource() = default;
  [[nodiscard]] virtual model::Moment now() const = 0;
  virtual std::unique_ptr<Wait> wait(std::function<void()> over) = 0;
};

}  // namespace millrace::model
