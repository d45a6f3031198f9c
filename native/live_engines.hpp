// Stops every engine thread before the process tears down its libraries.
//
// process.exit() runs no clean-up hook of the main environment: exit handlers of libcurl's TLS
// library then free what a running engine thread uses.
#pragma once

#include <functional>

namespace millrace::native {

// Calls `stop` when the process exits while this object lives.
// Thread: constructed and destroyed on any; `stop` runs on the thread that exits.
class LiveEngine {
 public:
  explicit LiveEngine(std::function<void()> stop);
  ~LiveEngine();
  LiveEngine(const LiveEngine&) = delete;
  LiveEngine& operator=(const LiveEngine&) = delete;

 private:
  std::function<void()> stop_;
};

}  // namespace millrace::native
