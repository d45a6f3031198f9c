// A client that sends any bytes and reads answers without help from the code under test.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

using std::chrono::milliseconds;

struct Answer {
  int status = 0;  // 0: nothing that can be read came
  std::string head;
  std::string body;
  bool complete = false;

  [[nodiscard]] std::string header(std::string name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0) {
    descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes > 0) {
      ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                   sizeof(receive_buffer_bytes));
    }
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  RawClient(RawClient&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        is_connected_(other.is_connected_),
        received_(std::move(other.received_)) {}

  [[nodiscard]] bool is_connected() const { return is_connected_; }

  // Errors: false when the peer takes no more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void send_slowly(std::string_view bytes) {
    for (const char& c : bytes) {
      if (!send({&c, 1})) return;
    }
  }

  void shut_down_sending() { ::shutdown(descriptor_, SHUT_WR); }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  // Ends the connection with a reset.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
  }

  // Reads what comes next. Shape: false at the end or after `limit`.
  bool receive(milliseconds limit = milliseconds(10'000)) {
    pollfd wait{descriptor_, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(limit.count())) <= 0) return false;
    char bytes[16 * 1024];
    const ssize_t got = ::recv(descriptor_, bytes, sizeof(bytes), 0);
    if (got <= 0) {
      is_ended_ = true;
      return false;
    }
    received_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  // Everything up to the end of the connection.
  std::string receive_all(milliseconds limit = milliseconds(10'000)) {
    while (receive(limit)) {
    }
    return std::exchange(received_, {});
  }

  // True when the peer ended the connection within `limit`.
  bool sees_end(milliseconds limit = milliseconds(10'000)) {
    while (receive(limit)) {
    }
    return is_ended_;
  }

  bool receive_until(std::string_view text, milliseconds limit = milliseconds(10'000)) {
    while (received_.find(text) == std::string::npos) {
      if (!receive(limit)) return false;
    }
    return true;
  }

  [[nodiscard]] std::string& received() { return received_; }

  // Reads one answer; informational ones are skipped. `to_head`: the answer has no body (HEAD).
  Answer answer(bool to_head = false) {
    Answer result;
    do {
      if (!receive_until("\r\n\r\n")) return {};
      const std::size_t end = received_.find("\r\n\r\n") + 4;
      result.head = received_.substr(0, end);
      received_.erase(0, end);
      result.status = result.head.size() > 12 ? std::atoi(result.head.c_str() + 9) : 0;
    } while (result.status / 100 == 1);
    if (to_head || result.status == 204 || result.status == 304) {
      result.complete = true;
    } else if (result.header("Transfer-Encoding") == "chunked") {
      read_chunks(result);
    } else if (const std::string length = result.header("Content-Length"); !length.empty()) {
      result.complete = take(std::strtoull(length.c_str(), nullptr, 10), result.body);
    } else {
      result.body = receive_all();
      result.complete = is_ended_;
    }
    return result;
  }

 private:
  bool take(std::size_t count, std::string& out) {
    while (received_.size() < count) {
      if (!receive()) return false;
    }
    out.append(received_, 0, count);
    received_.erase(0, count);
    return true;
  }

  void read_chunks(Answer& result) {
    while (receive_until("\r\n")) {
      std::string line;
      if (!take(received_.find("\r\n") + 2, line)) return;
      const std::size_t size = std::strtoull(line.c_str(), nullptr, 16);
      std::string end;
      if (!take(size, result.body) || !take(2, end) || end != "\r\n") return;
      if (size == 0) {
        result.complete = true;
        return;
      }
    }
  }

  int descriptor_ = -1;
  bool is_connected_ = false;
  bool is_ended_ = false;
  std::string received_;
};

}  // namespace test
