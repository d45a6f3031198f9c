#include "os/wake_up.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace millrace::os {

WakeUp::WakeUp() : listener_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), rung_(listener_.get()) {
  if (rung_ < 0) throw std::system_error(errno, std::system_category(), "eventfd");
}

void WakeUp::ring() const {
  const std::uint64_t once = 1;
  static_assert(sizeof once == read_bytes);
  // It fails only when it has been rung 2^64 times and not been heard.
  [[maybe_unused]] const ssize_t written = write(rung_, &once, sizeof once);
}

}  // namespace millrace::os
