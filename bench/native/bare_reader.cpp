// The least that can be between a provider's first delta and its reader: chats on raw sockets and
// one epoll loop, without HTTP, JSON or events. What the table about first tokens is measured by.
//
// Usage: bare_reader PORT PATH CHATS SPREAD_MS COUNT RATE
// Begins that many chats of [paced COUNT RATE], evenly spread over the time, and prints one JSON
// line:
// {"chats":N,"p50":ms,"p99":ms}, from the time in the first stamped delta to its arrival here.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "poller.hpp"

namespace {

using bench::now_ms;

struct Chat {
  bool requested = false;
  bool seen = false;
  std::string got;
};

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return -1;
  const auto at = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

class Reader {
 public:
  Reader(std::uint16_t port, const std::string& path, std::size_t chats, double spread_ms,
         const std::string& words)
      : port_(port), chats_(chats), gap_(spread_ms / static_cast<double>(chats)) {
    const std::string body =
        R"({"model":"example","stream":true,"threadId":"t","messages":[{"id":"m","role":"user",)"
        R"("content":")" +
        words + R"("}]})";
    request_ =
        "POST " + path +
        " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  void run() {
    const double started = now_ms();
    while (ended_ < chats_) {
      while (opened_ < chats_ && now_ms() >= started + gap_ * static_cast<double>(opened_)) open();
      poller_.wait(1, [this](int fd, std::uint32_t events) { on_ready(fd, events); });
    }
    std::printf("{\"chats\":%zu,\"p50\":%.3f,\"p99\":%.3f}\n", latencies_.size(),
                quantile(latencies_, 0.5), quantile(latencies_, 0.99));
  }

 private:
  void open() {
    const int fd = bench::connect_to_loopback(port_);
    const auto at = static_cast<std::size_t>(fd);
    if (at >= open_.size()) open_.resize(at + 1);
    open_[at] = std::make_unique<Chat>();
    poller_.add(fd, EPOLLIN | EPOLLOUT);
    ++opened_;
  }

  void on_ready(int fd, std::uint32_t events) {
    Chat& chat = *open_[static_cast<std::size_t>(fd)];
    if (!chat.requested && (events & EPOLLOUT) != 0) {
      chat.requested = true;
      poller_.change(fd, EPOLLIN);
      if (send(fd, request_.data(), request_.size(), MSG_NOSIGNAL) < 0) bench::die("send");
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
    const bool alive = bench::read_available(fd, chat.got);
    if (!chat.seen) note_first(chat);
    const bool complete = chat.got.ends_with("0\r\n\r\n");
    if (chat.got.size() > retained_bytes) chat.got.erase(0, chat.got.size() - retained_bytes);
    if (alive && !complete) return;
    close(fd);
    open_[static_cast<std::size_t>(fd)].reset();
    ++ended_;
  }

  void note_first(Chat& chat) {
    const std::size_t at = chat.got.find("@@");
    if (at == std::string::npos || chat.got.find("@@", at + 2) == std::string::npos) return;
    chat.seen = true;
    latencies_.push_back(now_ms() - std::strtod(&chat.got[at + 2], nullptr));
  }

  static constexpr std::size_t retained_bytes = 2048;
  std::uint16_t port_;
  std::size_t chats_;
  double gap_;
  std::string request_;
  bench::Poller poller_;
  std::vector<std::unique_ptr<Chat>> open_;  // by descriptor
  std::vector<double> latencies_;
  std::size_t opened_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("usage: bare_reader PORT PATH CHATS SPREAD_MS COUNT RATE\n", stderr);
    return 2;
  }
  alarm(120);
  Reader(static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10)), argv[2],
         std::strtoul(argv[3], nullptr, 10), std::strtod(argv[4], nullptr),
         "[paced " + std::string(argv[5]) + " " + argv[6] + "]")
      .run();
  return 0;
}
