#include "os/sync.hpp"

#include <unistd.h>

#include <cerrno>

namespace millrace::os {

bool sync_file(int descriptor) {
  int failed = 0;
  do {
    failed = ::fsync(descriptor);
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

}  // namespace millrace::os
