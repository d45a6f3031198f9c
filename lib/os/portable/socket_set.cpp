// Asio waits for each socket, and poll(2) says of those that it has told of, and of no others,
// whether they are ready: what was attended to is looked at again before it is waited for again.
#include "os/socket_set.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

using Stream = boost::asio::posix::stream_descriptor;

// Asked of in one system call.
constexpr std::size_t batch = 16;

struct Socket {
  Socket(boost::asio::io_context& context, std::uint32_t its_number)
      : descriptor(context), number(its_number) {}
  // The code that added the socket closes it.
  ~Socket() { descriptor.release(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  Stream descriptor;
  std::uint32_t number;
  bool reading = false;
  bool writing = false;
  bool waits_to_read = false;
  bool waits_to_write = false;
  bool is_candidate = false;
};

}  // namespace

struct SocketSet::State : std::enable_shared_from_this<State> {
  State(EventLoop& its_loop, std::function<void()> call)
      : loop(its_loop), on_ready(std::move(call)) {}

  void wait_for(const std::shared_ptr<Socket>& socket);
  void wait_for(const std::shared_ptr<Socket>& socket, bool Socket::*is_waiting,
                Stream::wait_type what);
  void waited(const std::weak_ptr<Socket>& waiting, bool Socket::*is_waiting);
  void report();
  std::size_t collect(std::span<Ready> ready);
  std::size_t poll_some(std::span<const std::shared_ptr<Socket>> requested, std::span<Ready> ready);

  EventLoop& loop;
  std::function<void()> on_ready;
  bool is_watched = false;
  bool is_closed = false;
  std::unordered_map<int, std::shared_ptr<Socket>> sockets;
  // Those that may be ready, the one that was told of longest ago first.
  std::deque<std::weak_ptr<Socket>> candidates;
};

// Until it is a candidate, there is a wait for each of what is wanted.
void SocketSet::State::wait_for(const std::shared_ptr<Socket>& socket) {
  if (socket->is_candidate) return;
  if (socket->reading) wait_for(socket, &Socket::waits_to_read, Stream::wait_read);
  if (socket->writing) wait_for(socket, &Socket::waits_to_write, Stream::wait_write);
}

void SocketSet::State::wait_for(const std::shared_ptr<Socket>& socket, bool Socket::*is_waiting,
                                Stream::wait_type what) {
  if (std::exchange((*socket).*is_waiting, true)) return;
  socket->descriptor.async_wait(what, [self = weak_from_this(), waiting = std::weak_ptr(socket),
                                       is_waiting](const boost::system::error_code& error) {
    const auto state = self.lock();
    if (error || !state) return;
    state->waited(waiting, is_waiting);
    state->report();
  });
}

// Nobody but the set owns a socket any more when others are called: removed, it is let go at once.
void SocketSet::State::waited(const std::weak_ptr<Socket>& waiting, bool Socket::*is_waiting) {
  const auto socket = waiting.lock();
  if (!socket) return;
  (*socket).*is_waiting = false;
  if (!std::exchange(socket->is_candidate, true)) candidates.push_back(waiting);
}

void SocketSet::State::report() {
  if (is_closed || candidates.empty() || !std::exchange(is_watched, false)) return;
  on_ready();
}

std::size_t SocketSet::State::collect(std::span<Ready> ready) {
  std::size_t found = 0;
  for (std::size_t left = candidates.size(); left > 0 && found < ready.size();) {
    std::array<std::shared_ptr<Socket>, batch> requested;
    std::size_t count = 0;
    for (; left > 0 && count < std::min(batch, ready.size() - found); --left) {
      requested[count] = candidates.front().lock();
      candidates.pop_front();
      if (requested[count]) ++count;
    }
    if (count == 0) break;
    found += poll_some({requested.data(), count}, ready.subspan(found));
  }
  return found;
}

// Those that are ready stay candidates.
std::size_t SocketSet::State::poll_some(std::span<const std::shared_ptr<Socket>> requested,
                                        std::span<Ready> ready) {
  std::array<pollfd, batch> events{};
  for (std::size_t i = 0; i < requested.size(); ++i) {
    events[i].fd = requested[i]->descriptor.native_handle();
    if (requested[i]->reading) events[i].events |= POLLIN;
    if (requested[i]->writing) events[i].events |= POLLOUT;
  }
  poll(events.data(), static_cast<nfds_t>(requested.size()), 0);
  std::size_t found = 0;
  for (std::size_t i = 0; i < requested.size(); ++i) {
    const short reported = events[i].revents;
    if (reported == 0) {
      requested[i]->is_candidate = false;
      wait_for(requested[i]);
      continue;
    }
    const bool failed = (reported & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    candidates.push_back(requested[i]);
    ready[found++] = {events[i].fd, requested[i]->number, failed || (reported & POLLIN) != 0,
                      failed || (reported & POLLOUT) != 0};
  }
  return found;
}

SocketSet::SocketSet(EventLoop& loop, std::function<void()> on_ready)
    : state_(std::make_shared<State>(loop, std::move(on_ready))) {}

SocketSet::~SocketSet() {
  state_->is_closed = true;
  state_->sockets.clear();
}

bool SocketSet::add(int fd, std::uint32_t number, bool reading, bool writing) {
  const auto socket = std::make_shared<Socket>(state_->loop.context(), number);
  boost::system::error_code rejected;
  socket->descriptor.assign(fd, rejected);
  if (rejected || !state_->sockets.try_emplace(fd, socket).second) return false;
  socket->reading = reading;
  socket->writing = writing;
  state_->wait_for(socket);
  return true;
}

bool SocketSet::change(int fd, std::uint32_t number, bool reading, bool writing) {
  const auto at = state_->sockets.find(fd);
  if (at == state_->sockets.end()) return false;
  at->second->number = number;
  at->second->reading = reading;
  at->second->writing = writing;
  state_->wait_for(at->second);
  return true;
}

void SocketSet::remove(int fd) {
  state_->sockets.erase(fd);
}

std::size_t SocketSet::collect(std::span<Ready> ready) {
  return state_->collect(ready);
}

void SocketSet::watch() {
  if (std::exchange(state_->is_watched, true) || state_->candidates.empty()) return;
  state_->loop.post([self = std::weak_ptr(state_)] {
    if (const auto state = self.lock()) state->report();
  });
}

}  // namespace millrace::os
