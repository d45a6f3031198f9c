// The least that can stand between a provider and its readers: bytes are copied from one socket to
// another, and nothing is read in them. What `serve` is compared with in the table about first
// tokens.
//
// Usage: bare_relay PORT
// Prints {"port":N} and passes each connection on to PORT; ends when standard input ends, at the
// latest after ten minutes.

#include <vector>

#include "poller.hpp"

namespace {

class Relay {
 public:
  explicit Relay(std::uint16_t target) : target_(target) {}

  void run() {
    std::uint16_t port = 0;
    listener_ = bench::listen_on_loopback(port);
    poller_.add(listener_, EPOLLIN);
    poller_.add(STDIN_FILENO, EPOLLIN);
    std::printf("{\"port\":%u}\n", static_cast<unsigned>(port));
    std::fflush(stdout);
    while (!leaving_) poller_.wait(1000, [this](int fd, std::uint32_t) { on_ready(fd); });
  }

 private:
  void on_ready(int fd) {
    if (fd == listener_) return accept_all();
    bytes_.clear();
    const bool alive = bench::read_available(fd, bytes_);
    if (fd == STDIN_FILENO) {
      leaving_ = !alive;
      return;
    }
    const auto at = static_cast<std::size_t>(fd);
    if (at >= peers_.size() || peers_[at] < 0) return;
    // Pieces are small and readers keep up: a socket always has room.
    if (!bytes_.empty()) send(peers_[at], bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
    if (!alive) part(fd, peers_[at]);
  }

  void accept_all() {
    for (;;) {
      const int reader = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (reader < 0) return;
      bench::set_no_delay(reader);
      const int provider = bench::connect_to_loopback(target_);
      join(reader, provider);
      join(provider, reader);
    }
  }

  void join(int fd, int peer) {
    const auto at = static_cast<std::size_t>(fd);
    if (at >= peers_.size()) peers_.resize(at + 1, -1);
    peers_[at] = peer;
    poller_.add(fd, EPOLLIN);
  }

  void part(int fd, int peer) {
    for (const int each : {fd, peer}) {
      peers_[static_cast<std::size_t>(each)] = -1;
      close(each);
    }
  }

  std::uint16_t target_;
  bench::Poller poller_;
  int listener_ = -1;
  bool leaving_ = false;
  std::vector<int> peers_;  // by descriptor
  std::string bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bare_relay PORT\n", stderr);
    return 2;
  }
  alarm(600);
  Relay(static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10))).run();
  return 0;
}
