#include "net/multi_driver.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::net {

namespace {

std::set<int> open_descriptors() {
  std::set<int> open;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/dev/fd", error), end; !error && at != end;
       at.increment(error)) {
    open.insert(std::atoi(at->path().filename().c_str()));
  }
  // The one that the list itself was read by is free again.
  std::erase_if(open, [](int descriptor) { return fcntl(descriptor, F_GETFD) == -1; });
  return open;
}

// What libcurl opens to be woken up would be open in every program that the process starts.
CURLM* make_multi() {
  const std::set<int> before = open_descriptors();
  CURLM* multi = curl_multi_init();
  for (const int descriptor : open_descriptors()) {
    if (before.contains(descriptor)) continue;
    const int flags = fcntl(descriptor, F_GETFD);
    if (flags != -1) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
  }
  return multi;
}

}  // namespace

MultiDriver::MultiDriver(os::EventLoop& loop, std::size_t idle_connections, OnEnd on_end,
                         SocketWatch::Pace pace)
    : on_end_(std::move(on_end)),
      timer_(loop, [this] { act(CURL_SOCKET_TIMEOUT, 0); }),
      sockets_(
          loop,
          [this](curl_socket_t fd, bool readable, bool writable) {
            act(fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
          },
          std::move(pace)),
      multi_(make_multi()) {
  const auto retained = static_cast<long>(idle_connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &MultiDriver::on_socket);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &MultiDriver::on_timeout);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, retained);
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
}

MultiDriver::~MultiDriver() {
  inside_ = true;
  multi_.reset();
}

void MultiDriver::prepare(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &MultiDriver::on_close);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
}

bool MultiDriver::add(CURL* easy) {
  return curl_multi_add_handle(multi_.get(), easy) == CURLM_OK;
}

long MultiDriver::local_port(CURL* easy) {
  long port = 0;
  curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &port);
  return port;
}

std::optional<long> MultiDriver::remove(CURL* easy) {
  const long port = local_port(easy);
  long version = 0;
  curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
  // libcurl tells the peer that a stream of HTTP/2 is over when it next sends something on the
  // connection. One without other streams is closed, unless the transfer has let go of it already.
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  const bool before = std::exchange(inside_, true);
  curl_multi_remove_handle(multi_.get(), easy);
  inside_ = before;
  const bool may_be_shared = version == CURL_HTTP_VERSION_NONE || version >= CURL_HTTP_VERSION_2_0;
  return may_be_shared && port > 0 ? std::optional(port) : std::nullopt;
}

// To pause and to go on are told with what waits to be sent.
CURLcode MultiDriver::flush(CURL* easy) {
  const bool before = std::exchange(inside_, true);
  CURLcode code = curl_easy_pause(easy, CURLPAUSE_RECV);
  if (code == CURLE_OK) code = curl_easy_pause(easy, CURLPAUSE_CONT);
  inside_ = before;
  return code;
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

void MultiDriver::deprioritize(CURL* easy) {
  long version = 0;
  curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
  // An HTTP/2 connection may have other answers to begin.
  if (acting_on_ != CURL_SOCKET_BAD && version < CURL_HTTP_VERSION_2_0)
    sockets_.deprioritize(acting_on_);
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
  acting_on_ = fd;
  curl_multi_socket_action(multi_.get(), fd, events, &running);
  acting_on_ = CURL_SOCKET_BAD;
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
    driver->sockets_.forget(fd);
    return 0;
  }
  bool is_watched = false;
  try {
    is_watched =
        driver->sockets_.watch(fd, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
  } catch (const std::exception&) {
    is_watched = false;
  }
  // An error returned here would end every transfer; this one alone has lost its socket.
  if (!is_watched)
    driver->waiting_.emplace_back([driver, fd] { driver->act(fd, CURL_CSELECT_ERR); });
  return 0;
}

int MultiDriver::on_close(void* self, curl_socket_t fd) {
  auto* driver = static_cast<MultiDriver*>(self);
  driver->sockets_.forget(fd);
  driver->idle_.closing(fd);
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

}  // namespace millrace::net
