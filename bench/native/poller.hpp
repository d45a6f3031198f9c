// Sockets and one epoll loop, as little as the two traffic programs of the benchmarks need. They
// are not part of the engine: what measures must cost less than what is measured.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace bench {

// Milliseconds of the system's monotonic clock, the same in every process.
inline double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

[[noreturn]] inline void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline void set_no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A listening socket on a free port of the loopback interface.
inline int listen_on_loopback(std::uint16_t& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, size) != 0 || listen(fd, 4096) != 0) die("listen");
  getsockname(fd, generic, &size);
  port = ntohs(address.sin_port);
  return fd;
}

// Begins a connection; it is made when the socket can be written.
// With `takes_little`, little waits in the sockets where nothing is read.
inline int connect_to_loopback(std::uint16_t port, bool takes_little = false) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  set_no_delay(fd);
  if (takes_little) {
    const int buffer = 4096;
    const int segment = 1000;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
  }
  const sockaddr_in address = loopback(port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(fd, generic, sizeof address) != 0 && errno != EINPROGRESS) die("connect");
  return fd;
}

class Poller {
 public:
  Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) die("epoll_create1");
  }
  void add(int fd, std::uint32_t events) { control(EPOLL_CTL_ADD, fd, events); }
  void change(int fd, std::uint32_t events) { control(EPOLL_CTL_MOD, fd, events); }

  // Calls on_ready(fd, events) for each descriptor that is ready within the time.
  template <class F>
  void wait(int timeout_ms, F&& on_ready) {
    const int count =
        epoll_wait(epoll_, ready_.data(), static_cast<int>(ready_.size()), timeout_ms);
    for (int i = 0; i < count; ++i) {
      const auto& one = ready_[static_cast<std::size_t>(i)];
      on_ready(one.data.fd, one.events);
    }
  }

 private:
  void control(int what, int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(epoll_, what, fd, &event);
  }
  int epoll_;
  std::array<epoll_event, 1024> ready_{};
};

// Appends what can be read now to `text`; false when the peer has left.
inline bool read_available(int fd, std::string& text) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == static_cast<ssize_t>(buffer.size())) continue;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }
}

}  // namespace bench
