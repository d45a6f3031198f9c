// Which sockets are attended to first, and how often. One whose peer is still to begin, or that
// nobody has called calm, is prompt: it has its turn at once. What comes of many calm ones may lie
// for a while, so that there is more of it for the same work: they are parted into rings, each of
// which has a turn in every such while, one after the other.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "os/socket_set.hpp"

namespace millrace::net {

// Thread: engine thread.
// Lifetime: the loop outlives it. Code that closes a descriptor forgets it before.
class SocketWatch {
 public:
  // May watch, forget and calm; must not destroy the watch.
  using OnReady = std::function<void(int fd, bool readable, bool writable)>;
  // How long what comes of calm sockets may lie; 0: it has its turn at once, too.
  using Pace = std::function<std::chrono::microseconds()>;

  SocketWatch(os::EventLoop& loop, OnReady on_ready, Pace pace);
  ~SocketWatch();
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  // Says what is waited for; a socket that is new is prompt. False when the kernel refuses.
  [[nodiscard]] bool watch(int fd, bool reading, bool writing);
  void forget(int fd);
  // Until it is forgotten, or gives so much that it would be held up.
  void deprioritize(int fd);

 private:
  struct Ring;
  struct Socket {
    std::uint32_t number = 0;
    Ring* ring = nullptr;   // none: prompt
    bool is_known = false;  // to the kernel
    bool reading = false;
    bool writing = false;
    std::uint32_t turn = 0;  // of its ring, in which it was ready `times` times
    std::uint32_t times = 0;
  };

  os::SocketSet& set_of(const Socket& socket);
  bool report(int fd, Socket& socket);
  void move(int fd, Socket& socket, Ring* ring);
  void attend_to_prompt();
  void begin_turn(Ring& ring);
  void go_on(Ring& ring);
  void end_turn(Ring& ring);
  // The socket as it was told of, or null when it is another one's or not waited for any more.
  Socket* find(const os::SocketSet::Ready& ready);
  void handle(const os::SocketSet::Ready& ready);

  static constexpr std::size_t ring_count = 8;

  os::EventLoop& loop_;
  OnReady on_ready_;
  Pace pace_;
  os::SocketSet prompt_;
  std::array<std::unique_ptr<Ring>, ring_count> rings_;
  std::size_t next_ring_ = 0;
  std::uint32_t last_number_ = 0;
  std::unordered_map<int, Socket> sockets_;
  // What is posted to the loop holds this weakly.
  std::shared_ptr<SocketWatch*> self_ = std::make_shared<SocketWatch*>(this);
};

}  // namespace millrace::net
