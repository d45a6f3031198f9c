#include "os/file_lock.hpp"

#include <sys/file.h>

#include <cerrno>

namespace millrace::os {

int lock_at_once(int file) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return 1;
  return errno == EWOULDBLOCK ? 0 : -1;
}

}  // namespace millrace::os
