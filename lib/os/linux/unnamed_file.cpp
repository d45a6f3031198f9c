#include "os/unnamed_file.hpp"

#include <fcntl.h>
#include <sys/types.h>

namespace millrace::os {

int open_unnamed(const std::string& folder) {
  constexpr mode_t owner_only = 0600;
  return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, owner_only);
}

}  // namespace millrace::os
