#include "os/sync.hpp"

#include <fcntl.h>

#include "os/descriptors.hpp"

namespace millrace::os {

bool sync_path(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  return file.get() >= 0 && sync_file(file.get());
}

}  // namespace millrace::os
