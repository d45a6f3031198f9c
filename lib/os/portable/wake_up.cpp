#include "os/wake_up.hpp"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

namespace millrace::os {

WakeUp::WakeUp() {
  Pipe pipe;
  if (!open_pipe(pipe)) throw std::system_error(errno, std::system_category(), "pipe");
  listener_ = std::move(pipe.read);
  ringer_ = std::move(pipe.write);
  rung_ = ringer_.get();
  for (const int end : {listener_.get(), rung_}) {
    ::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK);
  }
}

void WakeUp::ring() const {
  const char once = 1;
  // It fails only when the pipe is full, and so has been rung.
  [[maybe_unused]] const ssize_t written = ::write(rung_, &once, sizeof once);
}

}  // namespace millrace::os
