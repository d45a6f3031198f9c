#include "net/transfer.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <charconv>
#include <exception>
#include <utility>

#include "net/address_guard.hpp"
#include "net/request_rules.hpp"
#include "net/transport_errors.hpp"

namespace millrace::net {
namespace {

using Clock = os::Timer::Clock;

constexpr std::size_t piece_bytes = std::size_t{16} << 10U;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

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
  return {};
}

Result<void> Transfer::follow() {
  if (hop_ >= request_.max_redirects) {
    return make_error(Errc::too_many_redirects, url_.origin() + " redirects again after " +
                                                    std::to_string(hop_) +
                                                    " redirects, which is the limit.");
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
  is_head_begun_ = is_head_complete_ = is_sent_ = false;
  deadlines_.connecting(Clock::now());
  rearm();
  return {};
}

Result<void> Transfer::permit_url() const {
  if (!request_.guard) return {};
  if (has_proxy() && !request_.guard->trusts_proxy()) {
    return make_error(Errc::address_blocked,
                      "A guarded request cannot go through a proxy, which looks up names itself: "
                      "leave out the proxy, or set `trustsProxy` when it refuses private "
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
  is_body_ended_ = true;
  // libcurl takes a connection that is closed in the middle of the head for a complete answer.
  if (code == CURLE_OK && !is_head_complete_) code = CURLE_GOT_NOTHING;
  if (code != CURLE_OK && !error_) {
    long connect_status = 0;
    if (has_proxy()) {
      curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_CONNECTCODE, &connect_status);
    }
    end_error_ = transport_error({.code = code,
                                  .detail = curl_words_.data(),
                                  .is_connecting = deadlines_.is_connecting(),
                                  .is_in_head = !is_head_complete_,
                                  .has_proxy = has_proxy(),
                                  .connect_status = static_cast<int>(connect_status),
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
      return "No connection to " + origin + within +
             "check the address and the network, or raise the connect timeout.";
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
    fail(make_error(Errc::internal, "The handling of the response failed.", thrown.what()));
  } catch (...) {
    fail(make_error(Errc::internal, "The handling of the response failed."));
  }
  return !is_stopped();
}

// Also of a connection that is used again, which another request may have opened.
int Transfer::on_connected(void* self, char* address, char*, int, int) {
  auto* transfer = static_cast<Transfer*>(self);
  const bool goes_on = transfer->guarded([transfer, address] {
    if (auto allowed = transfer->permit({address}); !allowed) {
      transfer->fail(std::move(allowed).error());
      return;
    }
    transfer->deadlines_.connected(Clock::now());
    transfer->rearm();
    transfer->check_repetition();
  });
  return goes_on ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
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
// where another request has put it.
curl_socket_t Transfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto* transfer = static_cast<Transfer*>(self);
  std::array<char, NI_MAXHOST> text{};
  const bool goes_on = transfer->guarded([&] {
    if (!transfer->request_.guard) return;
    getnameinfo(&address->addr, address->addrlen, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
    if (auto allowed = transfer->permit({text.data()}); !allowed) {
      transfer->fail(std::move(allowed).error());
    }
  });
  if (!goes_on) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
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

void Transfer::header_line(std::string_view line) {
  // A head that comes drop by drop, or behind interim answers without end, is no answer yet.
  if (is_head_complete_) received();
  header_bytes_ += line.size();
  const std::size_t limit = request_.limits.header_bytes;
  if (limit != 0 && header_bytes_ > limit) {
    fail(make_error(Errc::headers_too_large, "The response headers of " + url_.origin() +
                                                 " are larger than " + std::to_string(limit) +
                                                 " bytes."));
    return;
  }
  if (is_head_complete_) return;  // a trailer
  if (!is_head_begun_) {
    status_line(line);
  } else if (trimmed(line).empty()) {
    head_complete();
  } else {
    field_line(line);
  }
}

// libcurl has checked the form: "HTTP/1.1 200 reason".
void Transfer::status_line(std::string_view line) {
  is_head_begun_ = true;
  head_ = ResponseHead{};
  const std::string_view rest = trimmed(line.substr(std::min(line.find(' '), line.size())));
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), head_.status);
  if (failed != std::errc{}) {
    fail(make_error(Errc::protocol_error, url_.origin() + " sent an unreadable status line."));
    return;
  }
  status_ = head_.status;
  head_.reason = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
}

void Transfer::field_line(std::string_view line) {
  const bool continues_last = line.front() == ' ' || line.front() == '\t';
  const std::size_t colon = line.find(':');
  if (continues_last && !head_.headers.empty()) {
    head_.headers.back().value.append(" ").append(trimmed(line));
  } else if (colon != std::string_view::npos) {
    head_.headers.push_back({std::string(trimmed(line.substr(0, colon))),
                             std::string(trimmed(line.substr(colon + 1)))});
  }
}

void Transfer::head_complete() {
  constexpr int switching_protocols = 101;
  constexpr int first_final_status = 200;
  if (status_ == switching_protocols) {
    fail(make_error(Errc::protocol_error,
                    url_.origin() + " switched to another protocol without being asked."));
    return;
  }
  if (status_ < first_final_status) {
    is_head_begun_ = false;
    return;
  }
  // Whoever put the second one there disagrees with us about where the answer ends.
  if (!has_one_length(head_.headers)) {
    fail(make_error(Errc::protocol_error, url_.origin() + " sent two different Content-Lengths."));
    return;
  }
  is_head_complete_ = true;
  received();
  if (request_.redirects != Redirects::report && is_redirect(status_)) {
    location_ = header_value(head_.headers, "location");
    if (request_.redirects == Redirects::same_origin && !stays_at_origin()) location_.clear();
  }
  if (location_.empty()) {
    begin_body();
  } else {
    hooks_.on_redirect();
  }
}

// What leads nowhere is told when it is followed.
bool Transfer::stays_at_origin() const {
  const auto next = follow_location(url_, location_);
  return location_.empty() || !next || next.value().origin() == url_.origin();
}

void Transfer::begin_body() {
  const std::string transfer_coding = header_value(head_.headers, "transfer-encoding");
  const std::string content_coding = header_value(head_.headers, "content-encoding");
  curl_off_t sent_bytes = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &sent_bytes);
  if (static_cast<std::size_t>(sent_bytes) >= request_.body.size()) {
    // Long histories are not kept in memory while their answer streams.
    std::string().swap(request_.body);
  }
  head_.url = url_.text;
  head_.redirected = hop_ > 0;
  handler_->on_head(std::move(head_));
  if (!transfer_coding.empty() && !same_name(transfer_coding, "chunked") &&
      !same_name(transfer_coding, "identity")) {
    // libcurl would inflate these itself, without a bound.
    fail(make_error(Errc::unsupported_encoding,
                    url_.origin() + " uses a transfer coding other than chunked.",
                    transfer_coding));
    return;
  }
  constexpr int no_content = 204;
  constexpr int not_modified = 304;
  const bool has_body =
      request_.method != "HEAD" && status_ != no_content && status_ != not_modified;
  if (!request_.decompress || !has_body) return;
  auto decoder = BodyDecoder::for_encoding(content_coding);
  if (!decoder) {
    fail(std::move(decoder).error());
  } else {
    decoder_ = std::move(decoder).value();
  }
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
    fail(make_error(Errc::response_too_large, "The response of " + url_.origin() +
                                                  " is larger than " + std::to_string(limit) +
                                                  " bytes: raise the limit if it is meant to be."));
  }
}

}  // namespace millrace::net
