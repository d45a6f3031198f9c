// libcurl's multi interface on the engine thread: sockets, the timer, and the rule that nobody
// calls libcurl from inside one of its callbacks.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "net/curl_handles.hpp"
#include "net/idle_sockets.hpp"
#include "net/socket_watch.hpp"
#include "os/timer.hpp"

namespace millrace::net {

// Thread: engine thread.
class MultiDriver {
 public:
  // Receives each transfer that libcurl has ended. Called outside of libcurl.
  using OnEnd = std::function<void(CURL*, CURLcode)>;

  MultiDriver(os::EventLoop& loop, std::size_t idle_connections, OnEnd on_end,
              SocketWatch::Pace pace);
  // All handles must have been removed.
  ~MultiDriver();
  MultiDriver(const MultiDriver&) = delete;
  MultiDriver& operator=(const MultiDriver&) = delete;

  // Makes `easy` close its sockets the way the driver needs it.
  void prepare(CURL* easy);

  // These five must not be called inside(); after() brings a call there.
  [[nodiscard]] bool add(CURL* easy);
  // Gives the local port of the connection where other streams of HTTP/2 may go on: the peer hears
  // of the end when one of them is flushed.
  [[nodiscard]] std::optional<long> remove(CURL* easy);
  CURLcode unpause(CURL* easy);
  // Runs `work` as if it were a callback of libcurl: what it asks for through after() waits.
  void as_inside(const std::function<void()>& work);

  // Sends what waits on the connection of a transfer that is not paused.
  CURLcode flush(CURL* easy);
  // Of the connection of a transfer; 0 before it has one.
  [[nodiscard]] static long local_port(CURL* easy);
  // What else comes of `easy` may lie for the pace; called while its bytes are handed over, and
  // without effect where its connection is not its own.
  void deprioritize(CURL* easy);

  [[nodiscard]] IdleSockets& idle_sockets() { return idle_; }

  [[nodiscard]] bool inside() const { return inside_; }
  // Runs `work` at once, or when libcurl has returned.
  void after(std::function<void()> work);

 private:
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* per_socket);
  static int on_timeout(CURLM* multi, long milliseconds, void* self);
  static int on_close(void* self, curl_socket_t fd);

  void act(curl_socket_t fd, int events);
  void settle();

  OnEnd on_end_;
  os::Timer timer_;
  SocketWatch sockets_;
  IdleSockets idle_;
  std::deque<std::function<void()>> waiting_;
  bool inside_ = false;
  bool settling_ = false;
  curl_socket_t acting_on_ = CURL_SOCKET_BAD;
  CurlMulti multi_;  // last, so that it closes its connections while the rest still stands
};

}  // namespace millrace::net
