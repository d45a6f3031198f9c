#include "os/sync.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/descriptors.hpp"

namespace millrace::os {

bool sync_file(int descriptor) {
  int failed = 0;
  do {
    failed = ::fsync(descriptor);
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

bool sync_path(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  return file.get() >= 0 && sync_file(file.get());
}

}  // namespace millrace::os
