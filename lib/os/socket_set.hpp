// Sockets of which the system knows who is ready. On Linux they are in an epoll instance of their
// own: each is made known once, and one system call tells of many. Asio, which watches the instance
// itself, would take one for each event; where there is no epoll it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace millrace::os {

class EventLoop;

// Thread: engine thread.
class SocketSet {
 public:
  struct Ready {
    int fd = -1;
    std::uint32_t number = 0;  // as it was set: tells a socket from an earlier one of the same fd
    bool readable = false;
    bool writable = false;  // both are true of a socket that failed
  };

  // `on_ready` is called once for each watch(), when sockets are ready. It may destroy the set.
  SocketSet(EventLoop& loop, std::function<void()> on_ready);
  ~SocketSet();
  SocketSet(const SocketSet&) = delete;
  SocketSet& operator=(const SocketSet&) = delete;

  // False when the system refuses, for want of memory.
  [[nodiscard]] bool add(int fd, std::uint32_t number, bool reading, bool writing);
  [[nodiscard]] bool change(int fd, std::uint32_t number, bool reading, bool writing);
  // A number that was closed, or belongs to another file by now, is left alone: libcurl 7.88 closes
  // the socket of a connection that was not made yet before it gives up watching it.
  void remove(int fd);

  // Sockets that are ready now and were not told of longest; those not attended to are told again.
  std::size_t collect(std::span<Ready> ready);
  void watch();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the handler that waits
};

}  // namespace millrace::os
