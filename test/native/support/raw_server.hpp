// A loopback server whose every byte a test decides, and a certificate authority made for one test.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace millrace::test {

class TlsSession;

// A throw-away authority and a certificate for localhost and 127.0.0.1 signed by it.
class TlsIdentity {
 public:
  static constexpr long day = 86'400;
  // The certificate holds for so long; below zero it has expired.
  explicit TlsIdentity(long seconds = day);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  // False when the tests were built without OpenSSL's headers.
  static bool is_available();
  [[nodiscard]] std::string authority_pem() const;

  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// One accepted connection. All calls block; stopping the server unblocks them.
// Thread: the connection's own; sent_bytes from any.
class Peer {
 public:
  Peer(int fd, const TlsIdentity* identity);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Head and body (by Content-Length) of the next request; empty when the client has closed.
  std::string read_request();
  // False when the client has closed or reset.
  bool write(std::string_view bytes);
  bool write_chunk(std::string_view bytes);
  // Waits until the client has sent something; leaves it unread.
  bool receives_within(std::chrono::milliseconds limit);
  // True when the client closes or resets within the limit.
  bool closes_within(std::chrono::milliseconds limit);
  void close();
  // Closes with a RST.
  void reset();
  // Unblocks the connection's thread from another.
  void interrupt();
  [[nodiscard]] std::size_t sent_bytes() const { return sent_bytes_; }

 private:
  // Bytes read; 0 at the end, negative on failure.
  long receive(char* into, std::size_t size);

  int fd_;
  std::unique_ptr<TlsSession> tls_;
  std::string unread_;
  std::atomic<std::size_t> sent_bytes_{0};
  std::mutex closing_;
};

// Accepts connections on a free loopback port and runs the script once for each, in its own thread.
class RawServer {
 public:
  using Script = std::function<void(Peer&)>;

  explicit RawServer(Script script, const TlsIdentity* identity = nullptr);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(std::string_view path, std::string_view host = "127.0.0.1") const;
  [[nodiscard]] int accepted() const { return accepted_; }
  // Connections that stand go on; others are refused.
  void stop_listening();

 private:
  struct Connection;
  void accept_all();

  Script script_;
  const TlsIdentity* identity_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::mutex mutex_;
  std::list<Connection> connections_;
  bool stopped_ = false;
  std::thread acceptor_;
};

// A loopback port that is taken and at which nobody listens, so that no other server can be found
// there.
class SilentPort {
 public:
  SilentPort();
  ~SilentPort();
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

// A response whose body the test sends in chunks of its own.
inline constexpr std::string_view chunked_head =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// "HTTP/1.1 <status> X" with these header lines (each ended by CRLF) and a Content-Length body.
std::string response(int status, std::string_view header_lines, std::string_view body);

}  // namespace millrace::test
