// A program that another thread starts between the making of a descriptor and its mark inherits it.
// Those that the engine starts do not: their watcher closes all descriptors but its own, first of
// all. Node's programs do not on macOS, where it spawns them with POSIX_SPAWN_CLOEXEC_DEFAULT.
#include "os/descriptors.hpp"

#include <fcntl.h>

#include <array>

namespace millrace::os {
namespace {

void close_on_exec(int fd) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// A peer that has left is an error of the write, and no signal.
void keep_silent(int fd) {
#ifdef SO_NOSIGPIPE
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#else
  static_cast<void>(fd);
#endif
}

}  // namespace

bool open_pipe(Pipe& made) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe(ends.data()) != 0) return false;
  for (const int end : ends) close_on_exec(end);
  made.read = Descriptor(ends[0]);
  made.write = Descriptor(ends[1]);
  return true;
}

int open_socket(int family, int type, int protocol) {
  const int fd = ::socket(family, type, protocol);
  if (fd < 0) return fd;
  close_on_exec(fd);
  keep_silent(fd);
  return fd;
}

int accept_connection(int listener, sockaddr* address, socklen_t* size) {
  const int fd = ::accept(listener, address, size);
  if (fd < 0) return fd;
  close_on_exec(fd);
  keep_silent(fd);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace millrace::os
