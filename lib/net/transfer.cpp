#include "net/transfer.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "net/address_guard.hpp"
#include "net/request_rules.hpp"
#include "net/transport_errors.hpp"
#include "os/descriptors.hpp"

namespace millrace::net {
namespace {

using Clock = os::Timer::Clock;

constexpr const char* no_descriptors_sentence =
    "This process has no file descriptor left for another connection: raise its limit (ulimit -n), "
    "or make fewer calls at a time.";
constexpr std::size_t piece_bytes = std::size_t{16} << 10U;

}  // namespace

Transfer::Transfer(os::EventLoop& loop, TransferId id, Request request,
                   std::shared_ptr<TransferHandler> handler, Hooks hooks)
    : id_(id),
      request_(std::move(request)),
      handler_(std::move(handler)),
      hooks_(std::move(hooks)),
      deadlines_(request_.timeouts, Clock::now()),
      timer_(loop, [this] { hooks_.on_timer(); }) {
  rearm();
}

Result<void> Transfer::prepare() {
  MILLRACE_TRY(check_request(request_));
  auto url = parse_url(request_.url);
  if (!url) return std::move(url).error();
  url_ = std::move(url).value();
  std::string().swap(request_.url);
  return {};
}

Result<void> Transfer::follow() {
  if (hop_ >= request_.max_redirects) {
    return make_error(Errc::too_many_redirects,
                      url_.origin() + " redirects again after " + std::to_string(hop_) +
                          " redirects, which is the limit; use the final address.");
  }
  auto next = follow_location(url_, location_);
  if (!next) return std::move(next).error();
  const bool is_same_origin = next.value().origin() == url_.origin();
  redirect_request(request_, status_, is_same_origin);
  left_origin_ = left_origin_ || !is_same_origin;
  url_ = std::move(next).value();
  ++hop_;
  location_.clear();
  status_ = 0;
  was_sent_ = was_sent();
  is_head_begun_ = is_head_complete_ = is_sent_ = wants_fresh_ = false;
  deadlines_.connecting(Clock::now());
  rearm();
  return {};
}

Result<void> Transfer::permit_url() const {
  if (!request_.guard) return {};
  if (has_proxy() && !request_.guard->trusts_proxy()) {
    return make_error(Errc::address_blocked,
                      "The request to " + url_.origin() +
                          " must not use a proxy, which would resolve the host itself; "
                          "leave out the proxy, or set `trustsProxy` if the proxy rejects private "
                          "addresses.");
  }
  return request_.guard->check_url(url_);
}

Result<void> Transfer::permit(const os::Addresses& addresses) const {
  // What a proxy's connection leads to is the proxy's matter.
  if (!request_.guard || has_proxy()) return {};
  return request_.guard->check_addresses(url_, addresses);
}

Transfer::Next Transfer::ended(CURLcode code, const CaBundle& roots) {
  if (!error_ && !location_.empty()) return Next::follow;
  if (std::exchange(is_spoilt_, false) && !error_ && handler_) {
    wants_fresh_ = true;
    deadlines_.connecting(Clock::now());
    rearm();
    return Next::again;
  }
  is_body_ended_ = true;
  // libcurl takes a connection that is closed in the middle of the head for a complete answer.
  if (code == CURLE_OK && !is_head_complete_) code = CURLE_GOT_NOTHING;
  if (code != CURLE_OK && !error_) {
    long connect_status = 0;
    if (uses_proxy()) {
      curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_CONNECTCODE, &connect_status);
    }
    end_error_ = transport_error({.code = code,
                                  .detail = curl_words_.data(),
                                  .is_connecting = deadlines_.is_connecting(),
                                  .is_in_head = !is_head_complete_,
                                  .was_sent = is_sent_ && !is_repeatable(request_),
                                  .has_proxy = uses_proxy(),
                                  .has_tunnel = uses_proxy() && url_.scheme == "https",
                                  .connect_status = static_cast<int>(connect_status),
                                  .header_limit = header_limit(),
                                  .has_authorities = has_authorities(),
                                  .ca_problem = roots.problem()},
                                 url_);
  }
  deadlines_.ended();
  if (!error_ && waiting_input_) return Next::hold;
  finish_body();
  return Next::finish;
}

// The body's own end is judged last, so that a broken connection is not called a broken coding.
void Transfer::finish_body() {
  if (end_error_) {
    fail(*std::exchange(end_error_, std::nullopt));
  } else if (decoder_ && !error_) {
    if (auto complete = decoder_->finish(); !complete) fail(std::move(complete).error());
  }
}

void Transfer::pause() {
  is_paused_ = true;
  deadlines_.pause(Clock::now());
}

void Transfer::resume() {
  is_paused_ = false;
  deadlines_.resume(Clock::now());
  rearm();
}

void Transfer::deliver_waiting() {
  if (!waiting_input_ || is_paused_) return;
  guarded([this] {
    const std::string input = *std::exchange(waiting_input_, std::nullopt);
    decode(input);
    if (is_body_ended_ && !waiting_input_) finish_body();
  });
}

void Transfer::fail(Error error) {
  if (error_) return;
  if (is_head_complete_ && status_ != 0) error.upstream_status = status_;
  error_ = std::move(error);
}

// The timer is not restarted with each arrival of bytes: it fires early and looks again.
void Transfer::rearm() {
  const auto next = deadlines_.next();
  if (!next || (timer_.is_running() && timer_.fires_at() <= *next)) return;
  timer_.start_at(*next);
}

void Transfer::check_deadlines() {
  if (const auto expired = deadlines_.expired(Clock::now())) {
    fail(make_error(*expired, timeout_sentence(*expired)));
  } else {
    rearm();
  }
}

std::string Transfer::timeout_sentence(Errc code) const {
  const std::string origin = url_.origin();
  const std::string within =
      " within " + std::to_string(deadlines_.limit_of(code).count()) + " ms: ";
  switch (code) {
    case Errc::connect_timeout:
      return "No connection to " + origin + (uses_proxy() ? " through the proxy" : "") + within +
             (uses_proxy() ? "check the proxy, " : "check ") +
             "the address and the network, or raise the connect timeout.";
    case Errc::first_byte_timeout:
      return origin + " did not begin to answer" + within +
             "raise the first-byte timeout if it is slow.";
    case Errc::idle_timeout:
      return origin + " sent nothing" + within + "raise the idle timeout if its pauses are long.";
    default:
      return "The answer of " + origin + " was not complete" + within + "raise the total timeout.";
  }
}

// An exception must not leave through libcurl's frames.
template <class Work>
bool Transfer::guarded(Work work) {
  if (is_stopped()) return false;
  try {
    work();
  } catch (const std::exception& thrown) {
    fail(make_error(Errc::internal, "The response of " + url_.origin() + " could not be handled.",
                    thrown.what()));
  } catch (...) {
    fail(make_error(Errc::internal, "The response of " + url_.origin() + " could not be handled."));
  }
  return !is_stopped();
}

// Also of a connection that is used again, which another request may have opened.
int Transfer::on_connected(void* self, char* address, char* local_address, int port,
                           int local_port) {
  auto* transfer = static_cast<Transfer*>(self);
  const bool goes_on = transfer->guarded([&] {
    if (auto allowed = transfer->permit({address}); !allowed) {
      transfer->fail(std::move(allowed).error());
      return;
    }
    transfer->check_connection({address, local_address, port, local_port});
    if (transfer->is_spoilt_) return;
    transfer->deadlines_.connected(Clock::now());
    transfer->rearm();
    transfer->check_repetition();
  });
  return goes_on && !transfer->is_spoilt_ ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

// What came on a kept connection while it was idle is no answer to this request. Those of HTTP/2
// carry several at a time.
void Transfer::check_connection(const ConnectionEnds& ends) {
  long made = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_NUM_CONNECTS, &made);
  const bool may_share = request_.route && request_.route->http2;
  if (made > 0) {
    sockets_->connected(std::exchange(opened_, {}), ends, may_share);
    if (may_share) ends_ = ends;
  } else if (!may_share || !sockets_->is_shared(ends)) {
    is_spoilt_ = sockets_->is_spoilt(ends);
  }
}

// A kept connection may die unanswered, and libcurl then sends the request anew, unasked. The
// server may have read it the first time: only a request that changes nothing goes twice.
void Transfer::check_repetition() {
  if (!std::exchange(is_sent_, true) || is_repeatable(request_)) return;
  fail(make_error(Errc::connection_lost,
                  "The connection to " + url_.origin() + " broke before an answer came.",
                  "the connection had been kept from an earlier request"));
}

// The descriptor must not leak into child processes. The address may come from libcurl's own cache,
// where another request has put it, or from its own reading of the URL.
curl_socket_t Transfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto* transfer = static_cast<Transfer*>(self);
  const bool goes_on = transfer->guarded([&] {
    // What a proxy's connection leads to is the proxy's matter.
    if (!transfer->request_.guard || transfer->has_proxy()) return;
    const AddressGuard& guard = *transfer->request_.guard;
    if (auto allowed = guard.check_socket(transfer->url_, &address->addr, address->addrlen);
        !allowed) {
      transfer->fail(std::move(allowed).error());
    }
  });
  if (!goes_on) return CURL_SOCKET_BAD;
  const int fd = os::open_socket(address->family, address->socktype, address->protocol);
  // libcurl would blame the server.
  const int problem = errno;
  if (fd < 0 && os::is_out_of_descriptors(problem)) {
    transfer->guarded([&] {
      transfer->fail(make_error(Errc::too_much_work, no_descriptors_sentence,
                                std::generic_category().message(problem)));
    });
  }
  if (fd >= 0) transfer->opened_.push_back(fd);
  return fd < 0 ? CURL_SOCKET_BAD : fd;
}

std::size_t Transfer::on_header(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const std::string_view line(bytes, size * count);
  const bool goes_on = transfer->guarded([&] { transfer->header_line(line); });
  return goes_on ? line.size() : 0;
}

std::size_t Transfer::on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const std::string_view input(bytes, size * count);
  if (transfer->is_stopped()) return 0;
  if (!transfer->location_.empty()) return input.size();
  // What waits comes first, also after a resume whose delivery is still on its way.
  if (transfer->is_paused_ || transfer->waiting_input_) {
    transfer->is_curl_paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  const bool goes_on = transfer->guarded([&] {
    transfer->received();
    if (transfer->decoder_) {
      transfer->decode(input);
    } else {
      transfer->deliver(input);
    }
  });
  return goes_on ? input.size() : 0;
}

void Transfer::received() {
  const bool was_waiting = !deadlines_.is_streaming();
  deadlines_.received(Clock::now());
  if (was_waiting) rearm();
}

void Transfer::decode(std::string_view input) {
  std::array<char, piece_bytes> buffer;  // NOLINT: filled before it is read
  for (;;) {
    if (is_paused_) {
      waiting_input_ = std::string(input);
      return;
    }
    const auto piece = decoder_->next(input, buffer);
    if (!piece) {
      fail(piece.error());
      return;
    }
    if (piece.value().empty()) return;
    deliver(piece.value());
    if (is_stopped()) return;
  }
}

void Transfer::deliver(std::string_view decoded) {
  const std::size_t limit = request_.limits.decoded_bytes;
  const bool is_too_much = limit != 0 && decoded.size() > limit - decoded_bytes_;
  if (is_too_much) decoded = decoded.substr(0, limit - decoded_bytes_);
  decoded_bytes_ += decoded.size();
  if (!decoded.empty()) handler_->on_data(decoded);
  if (is_too_much) {
    fail(too_large());
  }
}

Error Transfer::too_large() const {
  return make_error(Errc::response_too_large,
                    "The response of " + url_.origin() + " is larger than " +
                        std::to_string(request_.limits.decoded_bytes) +
                        " bytes; raise `limits.decodedBytes` if such a response is intended.");
}

}  // namespace millrace::net
