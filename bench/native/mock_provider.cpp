// A made-up model provider: an OpenAI-compatible chat endpoint on raw sockets, for many streams at
// little cost.
//
// Usage: mock_provider ANSWER [BODY...]
// ANSWER is a chat completion in server-sent events whose records are used for paced answers; each
// BODY is one that may be replayed. Prints {"port":N}; ends when standard input ends, at the latest
// after ten minutes. What it answers stands in the request's body:
//   [paced N R]  N deltas, R a second
//   [hold]       one delta, then nothing until the peer leaves
//   [replay]     the next BODY, as fast as the socket takes it
// Every 25th paced delta reads @@T@@, T being the time it was sent in milliseconds of the monotonic
// clock.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "poller.hpp"

namespace {

using bench::now_ms;

constexpr std::size_t stamp_every = 25;
constexpr std::string_view head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n";

struct Connection {
  int fd = -1;
  std::string in;
  std::string out;  // what the socket has not taken yet
  std::size_t written = 0;
  std::size_t count = 0;  // deltas of the paced answer
  std::size_t sent = 0;
  double interval_ms = 0;
};

std::string chunk(std::string_view text) {
  std::array<char, 24> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return size.data() + std::string(text) + "\r\n";
}

std::string read_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) bench::die(name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The pieces of a paced answer, in HTTP chunks.
class Answer {
 public:
  explicit Answer(const std::string& body) {
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = std::min(body.find("\n\n", at), body.size() - 2) + 2;
      frames.push_back(body.substr(at, end - at));
      at = end;
    }
    if (frames.size() < 5) bench::die("ANSWER has too few records");
    opening = chunk(frames.front());
    // The last three are the finish reason, the usage and [DONE].
    const std::size_t last = frames.size() - 3;
    for (std::size_t i = 1; i < last; ++i) deltas.push_back(chunk(frames[i]));
    for (std::size_t i = last; i < frames.size(); ++i) closing += chunk(frames[i]);
    closing += "0\r\n\r\n";
    const std::size_t content = frames[1].find("\"content\":\"") + 11;
    before_stamp_ = frames[1].substr(0, content);
    after_stamp_ = frames[1].substr(frames[1].find("\"}", content));
  }
  [[nodiscard]] std::string stamped() const {
    std::array<char, 40> stamp{};
    std::snprintf(stamp.data(), stamp.size(), "@@%.3f@@", now_ms());
    return chunk(before_stamp_ + stamp.data() + after_stamp_);
  }
  std::string opening;
  std::vector<std::string> deltas;
  std::string closing;

 private:
  std::string before_stamp_;
  std::string after_stamp_;
};

class Provider {
 public:
  Provider(const std::string& answer, std::vector<std::string> bodies)
      : answer_(answer), bodies_(std::move(bodies)), origin_(now_ms()), wheel_(1024) {}

  void run() {
    std::uint16_t port = 0;
    listener_ = bench::listen_on_loopback(port);
    poller_.add(listener_, EPOLLIN);
    poller_.add(STDIN_FILENO, EPOLLIN);
    std::printf("{\"port\":%u}\n", static_cast<unsigned>(port));
    std::fflush(stdout);
    while (!leaving_) {
      poller_.wait(paced_ > 0 ? 1 : 1000,
                   [this](int fd, std::uint32_t events) { on_ready(fd, events); });
      turn_wheel();
    }
  }

 private:
  void on_ready(int fd, std::uint32_t events) {
    if (fd == listener_) return accept_all();
    if (fd == STDIN_FILENO) {
      std::string ignored;
      leaving_ = !bench::read_available(fd, ignored);
      return;
    }
    Connection* connection = find(fd);
    if (connection == nullptr) return;
    if ((events & EPOLLOUT) != 0) flush(*connection);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
    if (!bench::read_available(fd, connection->in)) return drop(fd);
    take_requests(*connection);
  }

  void accept_all() {
    for (;;) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      bench::set_no_delay(fd);
      const auto at = static_cast<std::size_t>(fd);
      if (at >= connections_.size()) connections_.resize(at + 1);
      connections_[at] = std::make_shared<Connection>();
      connections_[at]->fd = fd;
      poller_.add(fd, EPOLLIN);
    }
  }

  Connection* find(int fd) {
    const auto at = static_cast<std::size_t>(fd);
    return at < connections_.size() ? connections_[at].get() : nullptr;
  }

  void drop(int fd) {
    close(fd);
    auto& place = connections_[static_cast<std::size_t>(fd)];
    place->fd = -1;  // the wheel may still hold it
    place.reset();
  }

  void take_requests(Connection& connection) {
    for (;;) {
      const std::size_t split = connection.in.find("\r\n\r\n");
      if (split == std::string::npos) return;
      std::string header = connection.in.substr(0, split);
      std::transform(header.begin(), header.end(), header.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      std::size_t end = 0;
      if (header.find("transfer-encoding: chunked") != std::string::npos) {
        const std::size_t last = connection.in.find("0\r\n\r\n", split + 4);
        if (last == std::string::npos) return;
        end = last + 5;
      } else {
        const std::size_t length = header.find("content-length:");
        end = split + 4;
        if (length != std::string::npos) end += std::strtoul(&header[length + 15], nullptr, 10);
        if (connection.in.size() < end) return;
      }
      const std::string body = connection.in.substr(split + 4, end - split - 4);
      connection.in.erase(0, end);
      answer(connection, body);
    }
  }

  void answer(Connection& connection, const std::string& body) {
    const std::size_t paced = body.find("[paced ");
    if (paced != std::string::npos) {
      char* rest = nullptr;
      connection.count = std::strtoul(&body[paced + 7], &rest, 10);
      connection.interval_ms =
          1000.0 / static_cast<double>(std::max(1UL, std::strtoul(rest, nullptr, 10)));
      connection.sent = 0;
      write(connection, std::string(head) + "Transfer-Encoding: chunked\r\n\r\n" + answer_.opening);
      ++paced_;
      schedule(connection);
    } else if (body.find("[hold]") != std::string::npos) {
      write(connection, std::string(head) + "Transfer-Encoding: chunked\r\n\r\n" + answer_.opening +
                            answer_.deltas.front());
    } else if (body.find("[replay]") != std::string::npos && !bodies_.empty()) {
      const std::string& whole = bodies_[replayed_++ % bodies_.size()];
      write(connection,
            std::string(head) + "Content-Length: " + std::to_string(whole.size()) + "\r\n\r\n");
      write(connection, whole);
    } else {
      write(connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    }
  }

  // --- pacing: a wheel with one slot a millisecond
  // -------------------------------------------------

  void schedule(const Connection& connection) {
    const auto delay = static_cast<std::size_t>(std::max(1.0, connection.interval_ms + 0.5));
    const auto at = static_cast<std::size_t>(connection.fd);
    wheel_[(tick_ + delay) % wheel_.size()].push_back(connections_[at]);
  }

  void turn_wheel() {
    const auto target = static_cast<std::size_t>(now_ms() - origin_);
    while (tick_ < target) {
      ++tick_;
      due_.clear();
      due_.swap(wheel_[tick_ % wheel_.size()]);
      for (const auto& connection : due_) serve(*connection);
    }
  }

  void serve(Connection& connection) {
    if (connection.fd < 0 || connection.sent >= connection.count) {
      --paced_;
      if (connection.fd >= 0) write(connection, answer_.closing);
      return;
    }
    const std::size_t number = connection.sent++;
    if (number % stamp_every == 0) {
      write(connection, answer_.stamped());
    } else {
      write(connection, answer_.deltas[number % answer_.deltas.size()]);
    }
    schedule(connection);
  }

  // --- writing
  // ---------------------------------------------------------------------------------------

  void write(Connection& connection, std::string_view bytes) {
    if (connection.out.empty()) {
      const ssize_t taken = send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (taken == static_cast<ssize_t>(bytes.size())) return;
      if (taken > 0) bytes.remove_prefix(static_cast<std::size_t>(taken));
      if (taken < 0 && errno != EAGAIN) return;  // the reading side notices that the peer has left
      connection.written = 0;
      poller_.change(connection.fd, EPOLLIN | EPOLLOUT);
    }
    connection.out.append(bytes);
  }

  void flush(Connection& connection) {
    const std::string_view rest = std::string_view(connection.out).substr(connection.written);
    const ssize_t taken = send(connection.fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (taken > 0) connection.written += static_cast<std::size_t>(taken);
    if (connection.written < connection.out.size() && (taken > 0 || errno == EAGAIN)) return;
    connection.out.clear();
    poller_.change(connection.fd, EPOLLIN);
  }

  Answer answer_;
  std::vector<std::string> bodies_;
  std::size_t replayed_ = 0;
  bench::Poller poller_;
  int listener_ = -1;
  bool leaving_ = false;
  std::vector<std::shared_ptr<Connection>> connections_;  // by descriptor
  double origin_;
  std::size_t tick_ = 0;
  std::size_t paced_ = 0;
  std::vector<std::vector<std::shared_ptr<Connection>>> wheel_;
  std::vector<std::shared_ptr<Connection>> due_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: mock_provider ANSWER [BODY...]\n", stderr);
    return 2;
  }
  alarm(600);
  std::vector<std::string> bodies;
  for (int i = 2; i < argc; ++i) bodies.push_back(read_file(argv[i]));
  Provider(read_file(argv[1]), std::move(bodies)).run();
  return 0;
}
