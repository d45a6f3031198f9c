// One connected TCP socket on the engine thread: the only file pair that moves bytes with Asio.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace millrace::os {
class EventLoop;
}

namespace millrace::http {

// Told that a wait of a Socket is over.
class SocketOwner {
 public:
  virtual ~SocketOwner() = default;
  virtual void on_readable() = 0;
  virtual void on_writable() = 0;
};

// What a read or write that does not wait achieved.
struct Transfer {
  std::size_t bytes = 0;  // 0 without `ended` or `failed`: try again when the socket is ready
  bool ended = false;     // read only: the peer sends no more
  bool failed = false;    // the connection is gone
};

// Waits for readiness instead of reading into a buffer of its own, so that a connection that is
// silent holds no buffer. Thread: engine thread.
class Socket {
 public:
  // Takes over a connected descriptor.
  Socket(os::EventLoop& loop, int descriptor, bool is_ip6);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  Transfer read(std::span<char> space);
  Transfer write(std::string_view bytes);
  // Calls the owner once, and holds it until then. Cancel: close.
  void wait_readable(std::shared_ptr<SocketOwner> owner);
  void wait_writable(std::shared_ptr<SocketOwner> owner);
  void shut_down_sending();
  // Ends the connection and frees what it held; from then on every transfer fails. Idempotent.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;  // null once closed: a stream may outlive the loop
};

}  // namespace millrace::http
