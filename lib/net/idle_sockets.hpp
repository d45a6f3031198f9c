// Sockets of connections that libcurl may use again, by the addresses of their ends: it does not
// tell the socket of a connection, and does not look at what came on one while it was idle.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

namespace millrace::net {

// The ends of a connection; a local port alone may be that of several.
struct ConnectionEnds {
  std::string address;
  std::string local_address;
  int port = 0;
  int local_port = 0;

  bool operator==(const ConnectionEnds&) const = default;
};

// Thread: engine thread.
class IdleSockets {
 public:
  // One of the sockets has connected so. Others are left alone. `may_share`: HTTP/2 was offered, of
  // which several answers share a connection; until not_shared() says otherwise they do.
  void connected(std::span<const int> sockets, const ConnectionEnds& ends, bool may_share);
  void not_shared(const ConnectionEnds& ends);
  [[nodiscard]] bool is_shared(const ConnectionEnds& ends) const;
  // True when something came that nobody asked for, or the connection is broken: the next answer
  // read from it might be another request's.
  [[nodiscard]] bool is_spoilt(const ConnectionEnds& ends) const;
  void closing(int socket);

 private:
  struct Retained {
    int socket;
    bool is_shared;
  };
  std::unordered_map<int, std::size_t> keys_;          // of sockets that are known
  std::unordered_map<std::size_t, Retained> sockets_;  // by the hash of their ends
};

}  // namespace millrace::net
