// What runs in the forks that Process makes: the watcher, and the program until it is loaded. Only
// calls that are safe between fork and exec; everything is prepared before.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace millrace::os {

// All descriptors are close-on-exec and above 2.
struct WatcherPlan {
  int control = -1;  // read end; its end of file is the order to end the group
  int status = -1;   // write end of WatcherReports
  int input = -1;    // of the program
  int output = -1;
  int errors = -1;
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;  // null: as it is
  std::chrono::milliseconds grace{0};
};

struct WatcherReport {
  enum class Kind : std::int32_t { started, failed_directory, failed_exec, ended };
  Kind kind = Kind::started;
  std::int32_t value = 0;  // pid, errno, or the status of waitpid
};

// Forks the watcher, which forks the program. Gives the watcher's pid, or -1 with errno.
pid_t start_watcher(const WatcherPlan& plan);

}  // namespace millrace::os
