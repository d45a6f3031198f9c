#include "http/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <new>
#include <utility>

#include "http/access.hpp"
#include "http/connection.hpp"
#include "os/descriptors.hpp"
#include "os/event_loop.hpp"

namespace millrace::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

namespace {

constexpr int backlog = 4096;
constexpr int accepts_per_turn = 64;
// Connections above the limit that may be told so; those above that are closed at once.
constexpr std::size_t refusals_at_once = 64;
constexpr milliseconds accept_pause{100};
// Answers that are told to end have this long for their last words.
constexpr milliseconds last_words{1000};
constexpr milliseconds least_last_words{50};
constexpr milliseconds shortest_tick{5};
constexpr milliseconds longest_tick{1000};

// Deadlines are looked at this often: a quarter of the shortest, so that they are kept by a
// quarter.
milliseconds tick_of(const ServerTimes& times) {
  const milliseconds shortest =
      std::min({times.head, times.keep_alive, times.body_span, times.write_stall, times.linger});
  return std::clamp(shortest / 4, shortest_tick, longest_tick);
}

Error listen_error(const ServerOptions& options, const boost::system::error_code& error) {
  const std::string place = options.host + ":" + std::to_string(options.port);
  if (error == asio::error::address_in_use) {
    return make_error(Errc::address_in_use,
                      place +
                          " is already in use. Stop the program that listens there, or choose "
                          "another port with --port.");
  }
  if (os::is_out_of_descriptors(error.value())) return os::out_of_descriptors(error.message());
  return make_error(Errc::listen_failed, "The server cannot listen on " + place + ": " +
                                             error.message() +
                                             ". Choose another --host or --port.");
}

std::string without_brackets(const std::string& host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  return host;
}

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  const char* written = inet_ntop(address.ss_family, bytes, text.data(), text.size());
  return written == nullptr ? "" : written;
}

}  // namespace

// The listening socket and the clock of one server. Engine thread, except while it is opened.
struct Server::State : std::enable_shared_from_this<State> {
  State(os::EventLoop& loop, ServerOptions options, Router router, AccessList access)
      : context(loop, std::move(options), std::move(router), std::move(access)),
        acceptor(loop.context()),
        clock(loop.context()),
        pause(loop.context()) {
    context.on_empty = [this] { report_empty(); };
  }

  void wait_for_clients();
  void accept_clients();
  bool accept_client();
  void admit(const std::shared_ptr<Connection>& connection);
  void tick();
  void check_deadlines();
  void stop(milliseconds drain, std::function<void()> done);
  void expedite();
  void close_all();
  void report_empty();

  ServerContext context;
  tcp::acceptor acceptor;
  asio::steady_timer clock;
  asio::steady_timer pause;
  Connection::Clock::time_point drain_deadline = Connection::Clock::time_point::max();
  milliseconds grace_period{0};  // of the last stop
  bool is_expedited = false;
  std::vector<std::function<void()>> on_stopped;
};

namespace {

// Opens the listening socket; the port of `options` becomes the one that was taken.
boost::system::error_code open_acceptor(tcp::acceptor& acceptor, asio::io_context& context,
                                        const ServerOptions& options) {
  boost::system::error_code error;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(without_brackets(options.host), std::to_string(options.port),
                                      tcp::resolver::passive, error);
  if (error) return error;
  // A name that stands for both families is served on IPv4, where every client finds it.
  const auto ip4 = std::find_if(found.begin(), found.end(), [](const auto& entry) {
    return entry.endpoint().address().is_v4();
  });
  const tcp::endpoint endpoint = ip4 == found.end() ? found.begin()->endpoint() : ip4->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (error) return error;
  ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(backlog, error);
  if (!error) acceptor.non_blocking(true, error);
  return error;
}

}  // namespace

void Server::State::wait_for_clients() {
  acceptor.async_wait(tcp::acceptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (!error) self->accept_clients();
                      });
}

void Server::State::accept_clients() {
  for (int count = 0; count < accepts_per_turn; ++count) {
    if (accept_client()) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    const bool is_one_client = errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
    if (is_one_client) continue;
    // No descriptors or no memory: the client stays in the backlog until there is room again.
    pause.expires_after(accept_pause);
    pause.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->wait_for_clients();
    });
    return;
  }
  wait_for_clients();
}

// Shape: false with errno set when no client could be taken.
bool Server::State::accept_client() {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  const int descriptor =
      os::accept_connection(acceptor.native_handle(), reinterpret_cast<sockaddr*>(&address), &size);
  if (descriptor < 0) return false;
  try {
    admit(std::make_shared<Connection>(context, descriptor, address.ss_family == AF_INET6,
                                       address_text(address)));
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return false;
  }
  return true;
}

void Server::State::admit(const std::shared_ptr<Connection>& connection) {
  const std::size_t open = context.connections.size();
  const std::size_t limit = context.options.max_connections;
  if (open >= limit + refusals_at_once) return;
  context.connections.insert(connection);
  if (open == 0) tick();
  if (open < limit) return connection->start();
  Error error =
      make_error(Errc::too_many_connections, "The server already has " + std::to_string(limit) +
                                                 " connections, which is its limit.");
  error.retry_after = std::chrono::seconds(1);
  connection->reject(error);
}

// Runs while there are connections.
void Server::State::tick() {
  milliseconds wait = tick_of(context.options.times);
  if (context.is_stopping) {
    const auto left = std::chrono::ceil<milliseconds>(drain_deadline - Connection::Clock::now());
    wait = std::clamp(left, milliseconds(1), wait);
  }
  clock.expires_after(wait);
  clock.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error) return;
    self->check_deadlines();
    if (!self->context.connections.empty()) self->tick();
  });
}

void Server::State::check_deadlines() {
  const auto now = Connection::Clock::now();
  if (now >= drain_deadline) return is_expedited ? close_all() : expedite();
  std::vector<std::shared_ptr<Connection>> late;
  for (const auto& connection : context.connections) {
    if (connection->is_late(now)) late.push_back(connection);
  }
  for (const auto& connection : late) connection->on_late(now);
}

void Server::State::stop(milliseconds drain, std::function<void()> done) {
  if (done) on_stopped.push_back(std::move(done));
  const auto deadline = Connection::Clock::now() + drain;
  drain_deadline = std::min(drain_deadline, deadline);
  grace_period = drain;
  context.is_stopping = true;
  boost::system::error_code ignored;
  acceptor.close(ignored);
  pause.cancel();
  const std::vector<std::shared_ptr<Connection>> open(context.connections.begin(),
                                                      context.connections.end());
  for (const auto& connection : open) connection->finish_up();
  if (context.connections.empty()) {
    clock.cancel();
    report_empty();
  } else {
    tick();
  }
}

void Server::State::expedite() {
  is_expedited = true;
  drain_deadline =
      Connection::Clock::now() + std::clamp(grace_period, least_last_words, last_words);
  const std::vector<std::shared_ptr<Connection>> open(context.connections.begin(),
                                                      context.connections.end());
  for (const auto& connection : open) connection->expedite();
}

void Server::State::close_all() {
  const std::vector<std::shared_ptr<Connection>> open(context.connections.begin(),
                                                      context.connections.end());
  for (const auto& connection : open) connection->close();
}

void Server::State::report_empty() {
  const auto callbacks = std::exchange(on_stopped, {});
  for (const auto& callback : callbacks) context.loop.post(callback);
}

Server::Server(os::EventLoop& loop) : loop_(loop) {}

Server::~Server() {
  if (state_) stop(milliseconds(0), nullptr);
}

Result<std::uint16_t> Server::listen(ServerOptions options, Router router) {
  if (state_)
    return make_error(Errc::internal, "The server is already listening; create another one.");
  tcp::acceptor acceptor(loop_.context());
  if (const auto error = open_acceptor(acceptor, loop_.context(), options)) {
    return listen_error(options, error);
  }
  boost::system::error_code error;
  const std::uint16_t port = acceptor.local_endpoint(error).port();
  if (error) return listen_error(options, error);
  auto access = AccessList::make(options, port);
  MILLRACE_TRY(access);
  allowed_hosts_ = access.value().hosts();
  state_ = std::make_shared<State>(loop_, std::move(options), std::move(router),
                                   std::move(access).value());
  state_->acceptor = std::move(acceptor);
  loop_.post([state = state_] { state->wait_for_clients(); });
  return port;
}

Result<std::function<void()>> Server::prepare_access(std::vector<std::string> hosts,
                                                     std::vector<std::string> origins) {
  if (!state_) return make_error(Errc::internal, "The server does not listen.");
  ServerOptions options = state_->context.options;
  options.allowed_hosts = std::move(hosts);
  options.allowed_origins = std::move(origins);
  boost::system::error_code ignored;
  const std::uint16_t port = state_->acceptor.local_endpoint(ignored).port();
  auto access = AccessList::make(options, port);
  if (!access) return std::move(access).error();
  const auto made = std::make_shared<AccessList>(std::move(access).value());
  return std::function<void()>(
      [state = state_, made] { state->context.access = std::move(*made); });
}

void Server::stop(milliseconds drain, std::function<void()> done) {
  if (!state_) {
    if (done) loop_.post(std::move(done));
    return;
  }
  loop_.post([state = state_, drain, done = std::move(done)] { state->stop(drain, done); });
}

bool is_loopback_name(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24U) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace millrace::http
