// Blocks all signals of the calling thread for a scope, so that threads started in it inherit the
// block.
#pragma once

#include <signal.h>

namespace millrace::os {

// Engine threads never run a host program's signal handlers.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace millrace::os
