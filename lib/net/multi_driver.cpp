#include "net/multi_driver.hpp"

#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <exception>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::net {

namespace asio = boost::asio;

// libcurl owns the descriptor; Asio only watches it and lets go of it before libcurl closes it.
struct MultiDriver::Socket {
  Socket(asio::io_context& context, curl_socket_t fd) : descriptor(context, fd) {}

  asio::posix::stream_descriptor descriptor;
  std::array<bool, 2> wanted{};
  std::array<bool, 2> armed{};
  // A handler of a socket that is no longer watched can still be queued, and the number of the
  // descriptor may already mean another connection.
  bool is_watched = true;
};

MultiDriver::MultiDriver(os::EventLoop& loop, std::size_t kept_connections, OnEnd on_end)
    : loop_(loop),
      on_end_(std::move(on_end)),
      timer_(loop, [this] { act(CURL_SOCKET_TIMEOUT, 0); }),
      multi_(curl_multi_init()) {
  const auto kept = static_cast<long>(kept_connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &MultiDriver::on_socket);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &MultiDriver::on_timeout);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kept);
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
}

MultiDriver::~MultiDriver() {
  inside_ = true;
  multi_.reset();
  while (!sockets_.empty()) forget(sockets_.begin()->first);
}

void MultiDriver::prepare(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &MultiDriver::on_close);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
}

bool MultiDriver::add(CURL* easy) {
  return curl_multi_add_handle(multi_.get(), easy) == CURLM_OK;
}

void MultiDriver::remove(CURL* easy) {
  const bool before = std::exchange(inside_, true);
  curl_multi_remove_handle(multi_.get(), easy);
  inside_ = before;
}

CURLcode MultiDriver::unpause(CURL* easy) {
  const bool before = std::exchange(inside_, true);
  const CURLcode code = curl_easy_pause(easy, CURLPAUSE_CONT);
  inside_ = before;
  return code;
}

void MultiDriver::as_inside(const std::function<void()>& work) {
  const bool before = std::exchange(inside_, true);
  work();
  inside_ = before;
}

void MultiDriver::after(std::function<void()> work) {
  if (inside_) {
    waiting_.push_back(std::move(work));
    return;
  }
  work();
  settle();
}

void MultiDriver::act(curl_socket_t fd, int events) {
  int running = 0;
  inside_ = true;
  curl_multi_socket_action(multi_.get(), fd, events, &running);
  inside_ = false;
  settle();
}

// Reports what has ended and does what had to wait, until there is neither.
void MultiDriver::settle() {
  if (inside_ || settling_) return;
  settling_ = true;
  for (;;) {
    int left = 0;
    if (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) on_end_(message->easy_handle, message->data.result);
    } else if (!waiting_.empty()) {
      const auto work = std::move(waiting_.front());
      waiting_.pop_front();
      work();
    } else {
      break;
    }
  }
  settling_ = false;
}

int MultiDriver::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  auto* driver = static_cast<MultiDriver*>(self);
  if (what == CURL_POLL_REMOVE) {
    driver->forget(fd);
    return 0;
  }
  try {
    driver->watch(fd, what);
  } catch (const std::exception&) {
    // An error returned here would end every transfer; this one alone has lost its socket.
    driver->waiting_.emplace_back([driver, fd] { driver->act(fd, CURL_CSELECT_ERR); });
  }
  return 0;
}

int MultiDriver::on_close(void* self, curl_socket_t fd) {
  static_cast<MultiDriver*>(self)->forget(fd);
  return close(fd);
}

int MultiDriver::on_timeout(CURLM*, long milliseconds, void* self) {
  auto* driver = static_cast<MultiDriver*>(self);
  if (milliseconds < 0) {
    driver->timer_.cancel();
  } else {
    driver->timer_.start_at(os::Timer::Clock::now() + std::chrono::milliseconds(milliseconds));
  }
  return 0;
}

void MultiDriver::watch(curl_socket_t fd, int what) {
  auto& socket = sockets_[fd];
  if (!socket) socket = std::make_shared<Socket>(loop_.context(), fd);
  socket->wanted[reading] = (what & CURL_POLL_IN) != 0;
  socket->wanted[writing] = (what & CURL_POLL_OUT) != 0;
  arm(socket, reading);
  arm(socket, writing);
}

void MultiDriver::forget(curl_socket_t fd) {
  const auto found = sockets_.extract(fd);
  if (found.empty()) return;
  found.mapped()->is_watched = false;
  found.mapped()->descriptor.release();
}

// A paused transfer wants nothing: an armed wait may then complete once, and is not armed again.
void MultiDriver::arm(const std::shared_ptr<Socket>& socket, Direction direction) {
  if (!socket->wanted[direction] || std::exchange(socket->armed[direction], true)) return;
  using Wait = asio::posix::stream_descriptor::wait_type;
  const Wait wait = direction == reading ? Wait::wait_read : Wait::wait_write;
  socket->descriptor.async_wait(wait, [this, socket, direction](boost::system::error_code failed) {
    socket->armed[direction] = false;
    if (!socket->is_watched || !socket->wanted[direction]) return;
    const int ready = direction == reading ? CURL_CSELECT_IN : CURL_CSELECT_OUT;
    act(socket->descriptor.native_handle(), failed ? CURL_CSELECT_ERR : ready);
    if (socket->is_watched) arm(socket, direction);
  });
}

}  // namespace millrace::net
