#include "os/file_lock.hpp"

#include <fcntl.h>

#include <cerrno>

namespace millrace::os {

// A lock of the open file, not of the process: closing another descriptor of the same file, which a
// library may do, does not free it.
int lock_at_once(int file) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_SETLK, &range) == 0) return 1;
  return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

}  // namespace millrace::os
