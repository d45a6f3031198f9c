#include "os/socket_set.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <system_error>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

int make_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

bool control(int epoll, int what, int fd, std::uint32_t number, bool reading, bool writing) {
  constexpr unsigned high = 32;
  epoll_event event{};
  event.events = (reading ? std::uint32_t{EPOLLIN} : 0U) | (writing ? std::uint32_t{EPOLLOUT} : 0U);
  event.data.u64 = (std::uint64_t{number} << high) | static_cast<std::uint32_t>(fd);
  return epoll_ctl(epoll, what, fd, &event) == 0;
}

}  // namespace

struct SocketSet::State {
  State(EventLoop& loop, std::function<void()> call)
      : descriptor(loop.context(), make_epoll()), on_ready(std::move(call)) {}

  boost::asio::posix::stream_descriptor descriptor;
  std::function<void()> on_ready;
  bool is_watched = false;
  bool is_closed = false;
};

SocketSet::SocketSet(EventLoop& loop, std::function<void()> on_ready)
    : state_(std::make_shared<State>(loop, std::move(on_ready))) {}

SocketSet::~SocketSet() {
  state_->is_closed = true;
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
}

bool SocketSet::add(int fd, std::uint32_t number, bool reading, bool writing) {
  return control(state_->descriptor.native_handle(), EPOLL_CTL_ADD, fd, number, reading, writing);
}

bool SocketSet::change(int fd, std::uint32_t number, bool reading, bool writing) {
  return control(state_->descriptor.native_handle(), EPOLL_CTL_MOD, fd, number, reading, writing);
}

void SocketSet::remove(int fd) {
  epoll_ctl(state_->descriptor.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
}

std::size_t SocketSet::collect(std::span<Ready> ready) {
  constexpr std::size_t most = 64;
  constexpr unsigned high = 32;
  std::array<epoll_event, most> events;  // NOLINT: filled before it is read
  const int limit = static_cast<int>(std::min(ready.size(), most));
  const int count = epoll_wait(state_->descriptor.native_handle(), events.data(), limit, 0);
  if (count <= 0) return 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::uint64_t data = events[i].data.u64;
    const bool failed = (events[i].events & (EPOLLHUP | EPOLLERR)) != 0;
    ready[i].fd = static_cast<int>(data & UINT32_MAX);
    ready[i].number = static_cast<std::uint32_t>(data >> high);
    ready[i].readable = failed || (events[i].events & EPOLLIN) != 0;
    ready[i].writable = failed || (events[i].events & EPOLLOUT) != 0;
  }
  return static_cast<std::size_t>(count);
}

void SocketSet::watch() {
  if (std::exchange(state_->is_watched, true)) return;
  using Wait = boost::asio::posix::stream_descriptor::wait_type;
  state_->descriptor.async_wait(Wait::wait_read,
                                [state = state_](const boost::system::error_code& failed) {
                                  state->is_watched = false;
                                  if (!failed && !state->is_closed) state->on_ready();
                                });
}

}  // namespace millrace::os
