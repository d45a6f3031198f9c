#include "os/watcher_system.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace millrace::os {

void close_descriptors(unsigned first, unsigned last) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
  constexpr unsigned most = 65'536;
  for (unsigned fd = first; fd <= std::min(last, most); ++fd) ::close(static_cast<int>(fd));
}

void adopt_orphans() {
  prctl(PR_SET_NAME, "millrace-watch");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void kill_orphans() {
  const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 4096> text{};
  const ssize_t size = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  pid_t pid = 0;
  for (ssize_t at = 0; at < size; ++at) {
    const char c = text[static_cast<std::size_t>(at)];
    if (c >= '0' && c <= '9') {
      pid = pid * 10 + (c - '0');
    } else {
      if (pid > 1) kill(pid, SIGKILL);
      pid = 0;
    }
  }
  if (pid > 1) kill(pid, SIGKILL);
}

}  // namespace millrace::os
