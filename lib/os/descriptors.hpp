// File descriptors: who owns one, and how those are made that no program started by this process
// inherits. Linux marks them while it makes them; elsewhere a moment passes in between.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace millrace::os {

// Owns a descriptor until somebody else does.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// True for an errno that says that the process, or the system, has no descriptor left.
inline bool is_out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

// The error for that: nothing is wrong with what was asked for.
inline Error out_of_descriptors(const std::string& detail) {
  // The engine's loop, listeners and programs, besides what Node itself holds (about 20).
  return make_error(Errc::too_much_work,
                    "This process has no file descriptor left: Millrace and Node need 64, and one "
                    "more for each connection. Raise the limit (ulimit -n 1024).",
                    detail);
}

// False when the system has none; errno says why.
bool open_pipe(Pipe& made);

// As socket(2).
int open_socket(int family, int type, int protocol);

// As accept(2); what it gives does not block.
int accept_connection(int listener, sockaddr* address, socklen_t* size);

}  // namespace millrace::os
