#include "os/detached_thread.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "os/blocked_signals.hpp"

namespace millrace::os {

bool run_detached(std::function<void()> work) {
  const BlockedSignals blocked;
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

}  // namespace millrace::os
