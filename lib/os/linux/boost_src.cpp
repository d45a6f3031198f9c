// Compiles the parts of Asio that need not be in headers, once.
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace {

// Asio sets its timers to a moment long ago when one is due. libfaketime, where it is preloaded,
// moves every such moment into the time that it makes up, where the system refuses it: the timer
// would never fire. Timers go by the monotonic clock, which is nobody's to move.
[[maybe_unused]] int set_timer(int fd, int flags, const itimerspec* time, itimerspec* before) {
  return static_cast<int>(syscall(SYS_timerfd_settime, fd, flags, time, before));
}

}  // namespace

#define timerfd_settime set_timer

#include <boost/asio/impl/src.hpp>

#undef timerfd_settime
