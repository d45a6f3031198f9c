#include "net/kept_sockets.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <string>

namespace millrace::net {
namespace {

struct Local {
  std::string address;
  int port = 0;
};

// Empty when the socket has none.
Local local_of(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  auto* at = reinterpret_cast<sockaddr*>(&name);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (getsockname(socket, at, &size) != 0 ||
      getnameinfo(at, size, host.data(), host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  Local local;
  local.address = host.data();
  const std::string_view digits = service.data();
  std::from_chars(digits.data(), digits.data() + digits.size(), local.port);
  // libcurl leaves out the scope of a local IPv6 address.
  if (const auto scope = local.address.find('%'); scope != std::string::npos) {
    local.address.resize(scope);
  }
  return local;
}

std::size_t key_of(std::string_view address, int port) {
  constexpr std::size_t ports = 65'536;
  return std::hash<std::string_view>()(address) * ports + static_cast<std::size_t>(port);
}

}  // namespace

void KeptSockets::connected(std::span<const int> sockets, std::string_view local_address,
                            int local_port) {
  for (const int socket : sockets) {
    const Local local = local_of(socket);
    if (local.port != local_port || local.address != local_address) continue;
    sockets_.insert_or_assign(key_of(local_address, local_port), socket);
  }
}

bool KeptSockets::is_spoilt(std::string_view local_address, int local_port) const {
  const auto at = sockets_.find(key_of(local_address, local_port));
  if (at == sockets_.end()) return false;
  const Local local = local_of(at->second);
  if (local.port != local_port || local.address != local_address) return false;
  char byte = 0;
  const ssize_t size = recv(at->second, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return size >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void KeptSockets::closing(int socket) {
  const Local local = local_of(socket);
  const auto at = sockets_.find(key_of(local.address, local.port));
  if (at != sockets_.end() && at->second == socket) sockets_.erase(at);
}

}  // namespace millrace::net
