#include "net/idle_sockets.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <string_view>

namespace millrace::net {
namespace {

using NameOf = int (*)(int, sockaddr*, socklen_t*);

// False when the socket has no such end.
bool read_end(int socket, NameOf name_of, std::string& address, int& port) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  auto* at = reinterpret_cast<sockaddr*>(&name);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (name_of(socket, at, &size) != 0 ||
      getnameinfo(at, size, host.data(), host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return false;
  }
  address = host.data();
  // libcurl leaves out the scope of an IPv6 address.
  if (const auto scope = address.find('%'); scope != std::string::npos) address.resize(scope);
  const std::string_view digits = service.data();
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return true;
}

bool has_ends(int socket, const ConnectionEnds& ends) {
  ConnectionEnds found;
  return read_end(socket, getpeername, found.address, found.port) &&
         read_end(socket, getsockname, found.local_address, found.local_port) && found == ends;
}

std::size_t key_of(const ConnectionEnds& ends) {
  std::string text = ends.address;
  text.append(" ").append(std::to_string(ends.port)).append(" ").append(ends.local_address);
  return std::hash<std::string>()(text.append(" ").append(std::to_string(ends.local_port)));
}

}  // namespace

void IdleSockets::connected(std::span<const int> sockets, const ConnectionEnds& ends,
                            bool may_share) {
  for (const int socket : sockets) {
    if (!has_ends(socket, ends)) continue;
    const std::size_t key = key_of(ends);
    sockets_.insert_or_assign(key, Retained{socket, may_share});
    keys_.insert_or_assign(socket, key);
  }
}

void IdleSockets::not_shared(const ConnectionEnds& ends) {
  const auto at = sockets_.find(key_of(ends));
  if (at != sockets_.end()) at->second.is_shared = false;
}

bool IdleSockets::is_shared(const ConnectionEnds& ends) const {
  const auto at = sockets_.find(key_of(ends));
  return at != sockets_.end() && at->second.is_shared;
}

bool IdleSockets::is_spoilt(const ConnectionEnds& ends) const {
  const auto at = sockets_.find(key_of(ends));
  if (at == sockets_.end()) return false;
  char byte = 0;
  const ssize_t size = recv(at->second.socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return size >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void IdleSockets::closing(int socket) {
  const auto known = keys_.find(socket);
  if (known == keys_.end()) return;
  const auto at = sockets_.find(known->second);
  if (at != sockets_.end() && at->second.socket == socket) sockets_.erase(at);
  keys_.erase(known);
}

}  // namespace millrace::net
