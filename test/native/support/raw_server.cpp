#include "support/raw_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "os/blocked_signals.hpp"
#include "support/tls_session.hpp"

namespace millrace::test {

namespace {

// Takes a free loopback port for a socket.
std::uint16_t bound_port(int socket) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket, generic, size) != 0 || getsockname(socket, generic, &size) != 0) {
    throw std::runtime_error("no loopback port");
  }
  return ntohs(address.sin_port);
}

}  // namespace

struct RawServer::Connection {
  Connection(int fd, const TlsIdentity* identity) : peer(fd, identity) {}
  Peer peer;
  std::thread thread;
};

Peer::Peer(int fd, const TlsIdentity* identity) : fd_(fd) {
  if (identity != nullptr) tls_ = TlsSession::make(*identity, fd);
}

Peer::~Peer() {
  close();
}

long Peer::receive(char* into, std::size_t size) {
  if (tls_) return tls_->read(into, size);
  return recv(fd_, into, size, 0);
}

std::string Peer::read_request() {
  constexpr std::string_view end_of_head = "\r\n\r\n";
  constexpr std::string_view length_name = "\r\nContent-Length: ";
  std::array<char, 16384> buffer{};
  std::size_t needed = std::string::npos;
  for (;;) {
    const std::size_t head = unread_.find(end_of_head);
    if (head != std::string::npos && needed == std::string::npos) {
      const std::size_t length = unread_.find(length_name);
      needed = head + end_of_head.size();
      if (length < head) needed += std::stoul(unread_.substr(length + length_name.size()));
    }
    if (needed != std::string::npos && unread_.size() >= needed) break;
    const long count = receive(buffer.data(), buffer.size());
    if (count <= 0) return {};
    unread_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::string request = unread_.substr(0, needed);
  unread_.erase(0, needed);
  return request;
}

bool Peer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const long count = tls_ ? tls_->write(bytes.data(), bytes.size())
                            : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent_bytes_ += static_cast<std::size_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Peer::write_chunk(std::string_view bytes) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return write(std::string(size.data()).append(bytes).append("\r\n"));
}

bool Peer::receives_within(std::chrono::milliseconds limit) {
  pollfd wait{fd_, POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(limit.count())) > 0;
}

bool Peer::closes_within(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd wait{fd_, POLLIN, 0};
    if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
    if (recv(fd_, buffer.data(), buffer.size(), 0) <= 0) return true;
  }
}

void Peer::close() {
  const std::lock_guard lock(closing_);
  if (fd_ < 0) return;
  if (tls_) tls_->end();
  ::close(fd_);
  fd_ = -1;
}

void Peer::reset() {
  const std::lock_guard lock(closing_);
  if (fd_ < 0) return;
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::close(fd_);
  fd_ = -1;
}

void Peer::interrupt() {
  const std::lock_guard lock(closing_);
  if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
}

RawServer::RawServer(Script script, const TlsIdentity* identity)
    : script_(std::move(script)),
      identity_(identity),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      port_(bound_port(listener_)) {
  if (listen(listener_, 512) != 0) throw std::runtime_error("cannot listen");
  const os::BlockedSignals blocked;  // a client that goes away must not end the tests by SIGPIPE
  acceptor_ = std::thread([this] { accept_all(); });
}

RawServer::~RawServer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Connection& connection : connections_) connection.peer.interrupt();
  }
  stop_listening();
  acceptor_.join();
  ::close(listener_);
  for (Connection& connection : connections_) connection.thread.join();
}

void RawServer::stop_listening() {
  shutdown(listener_, SHUT_RDWR);
}

void RawServer::accept_all() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    // The descriptor is taken before the wait begins, perhaps while a test leaves none to take.
    const bool has_none = fd < 0 && errno == EMFILE;
    const std::lock_guard lock(mutex_);
    if (stopped_ || (fd < 0 && !has_none)) {
      if (fd >= 0) ::close(fd);
      return;
    }
    if (has_none) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    ++accepted_;
    Connection& connection = connections_.emplace_back(fd, identity_);
    connection.thread = std::thread([this, &connection] {
      script_(connection.peer);
      connection.peer.close();
    });
  }
}

SilentPort::SilentPort()
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), port_(bound_port(socket_)) {}

SilentPort::~SilentPort() {
  ::close(socket_);
}

std::string RawServer::url(std::string_view path, std::string_view host) const {
  return std::string(identity_ == nullptr ? "http://" : "https://")
      .append(host)
      .append(":")
      .append(std::to_string(port_))
      .append(path);
}

std::string response(int status, std::string_view header_lines, std::string_view body) {
  return std::string("HTTP/1.1 ")
      .append(std::to_string(status))
      .append(" X\r\n")
      .append(header_lines)
      .append("Content-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n\r\n")
      .append(body);
}

}  // namespace millrace::test
