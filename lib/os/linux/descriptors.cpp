#include "os/descriptors.hpp"

#include <fcntl.h>

#include <array>

namespace millrace::os {

bool open_pipe(Pipe& made) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  made.read = Descriptor(ends[0]);
  made.write = Descriptor(ends[1]);
  return true;
}

int open_socket(int family, int type, int protocol) {
  return ::socket(family, type | SOCK_CLOEXEC, protocol);
}

int accept_connection(int listener, sockaddr* address, socklen_t* size) {
  return ::accept4(listener, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

}  // namespace millrace::os
