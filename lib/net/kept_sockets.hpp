// Sockets of connections that libcurl may use again, by their local addresses: it does not tell the
// socket of a connection, and does not look at what came on one while it was idle.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>

namespace millrace::net {

// Thread: engine thread.
class KeptSockets {
 public:
  // One of the sockets has connected from this address. Others are left alone.
  void connected(std::span<const int> sockets, std::string_view local_address, int local_port);
  // True when something came that nobody asked for, or the connection is broken: the next answer
  // read from it might be another request's.
  [[nodiscard]] bool is_spoilt(std::string_view local_address, int local_port) const;
  void closing(int socket);

 private:
  std::unordered_map<std::size_t, int> sockets_;  // by address and port, which are checked again
};

}  // namespace millrace::net
