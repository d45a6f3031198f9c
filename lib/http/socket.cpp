#include "http/socket.hpp"

#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::http {

namespace asio = boost::asio;
using asio::ip::tcp;

struct Socket::State {
  explicit State(asio::io_context& context) : socket(context) {}
  tcp::socket socket;
};

namespace {

Transfer transfer_of(std::size_t bytes, const boost::system::error_code& error) {
  Transfer result{bytes, false, false};
  if (error == asio::error::would_block || error == asio::error::try_again) return result;
  result.ended = error == asio::error::eof;
  result.failed = error && !result.ended;
  return result;
}

}  // namespace

Socket::Socket(os::EventLoop& loop, int descriptor, bool is_ip6)
    : state_(std::make_unique<State>(loop.context())) {
  boost::system::error_code rejected;
  state_->socket.assign(is_ip6 ? tcp::v6() : tcp::v4(), descriptor, rejected);
  if (rejected) {
    ::close(descriptor);  // the first read fails and ends the connection
    return;
  }
  boost::system::error_code ignored;
  state_->socket.non_blocking(true, ignored);
  state_->socket.set_option(tcp::no_delay(true), ignored);
  state_->socket.set_option(asio::socket_base::keep_alive(true), ignored);
}

Socket::~Socket() = default;

Transfer Socket::read(std::span<char> space) {
  if (!state_) return {0, false, true};
  boost::system::error_code error;
  const std::size_t bytes =
      state_->socket.read_some(asio::buffer(space.data(), space.size()), error);
  return transfer_of(bytes, error);
}

Transfer Socket::write(std::string_view bytes) {
  if (!state_) return {0, false, true};
  boost::system::error_code error;
  const std::size_t written = state_->socket.write_some(asio::buffer(bytes), error);
  return transfer_of(written, error);
}

void Socket::wait_readable(std::shared_ptr<SocketOwner> owner) {
  if (!state_) return;
  state_->socket.async_wait(tcp::socket::wait_read,
                            [owner = std::move(owner)](const boost::system::error_code& error) {
                              if (error != asio::error::operation_aborted) owner->on_readable();
                            });
}

void Socket::wait_writable(std::shared_ptr<SocketOwner> owner) {
  if (!state_) return;
  state_->socket.async_wait(tcp::socket::wait_write,
                            [owner = std::move(owner)](const boost::system::error_code& error) {
                              if (error != asio::error::operation_aborted) owner->on_writable();
                            });
}

void Socket::shut_down_sending() {
  if (!state_) return;
  boost::system::error_code ignored;
  state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void Socket::close() {
  state_.reset();
}

}  // namespace millrace::http
