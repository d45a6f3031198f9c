#include "os/sync.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace millrace::os {
namespace {

// What macOS' fsync has written may still be in the disk's own cache, which a power cut empties.
int sync_once(int descriptor) {
#ifdef F_FULLFSYNC
  if (::fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
  // File systems of other machines do not have it.
  if (errno != ENOTSUP && errno != EOPNOTSUPP && errno != ENOTTY && errno != EINVAL) return -1;
#endif
  return ::fsync(descriptor);
}

}  // namespace

bool sync_file(int descriptor) {
  int failed = 0;
  do {
    failed = sync_once(descriptor);
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

}  // namespace millrace::os
