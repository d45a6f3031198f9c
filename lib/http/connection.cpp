// The half of a connection that reads requests and gives them to their handlers.
#include "http/connection.hpp"

#include <algorithm>
#include <utility>

#include "http/response.hpp"
#include "http/syntax.hpp"
#include "os/event_loop.hpp"

namespace millrace::http {
namespace {

constexpr std::size_t scratch_bytes = 64 * 1024;
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view preflight_seconds = "600";
constexpr std::string_view identity = "identity";

std::string shown(std::string_view path) {
  constexpr std::size_t longest = 200;
  return path.size() <= longest ? std::string(path) : std::string(path.substr(0, longest)) + "...";
}

// A body is taken as it is. RFC 9110 section 15.5.16 has the status for another coding.
Result<void> check_coding(const RequestHead& head) {
  const auto coding = head.headers.find("Content-Encoding");
  if (!coding || equal_ignoring_case(*coding, identity)) return {};
  return make_error(Errc::unsupported_media_type, "The request body has the Content-Encoding '" +
                                                      shown(*coding) + "'; send it without one.");
}

}  // namespace

ServerContext::ServerContext(os::EventLoop& event_loop, ServerOptions server_options, Router routes,
                             AccessList access_list)
    : loop(event_loop),
      options(std::move(server_options)),
      router(std::move(routes)),
      access(std::move(access_list)),
      scratch(scratch_bytes) {}

ServerContext::~ServerContext() {
  for (const auto& connection : connections) connection->orphan();
}

void ServerContext::remove(const std::shared_ptr<Connection>& connection) {
  connections.erase(connection);
  if (is_stopping && connections.empty() && on_empty) on_empty();
}

Connection::Connection(ServerContext& context, int descriptor, bool is_ip6,
                       std::string remote_address)
    : context_(&context),
      socket_(context.loop, descriptor, is_ip6),
      remote_address_(std::move(remote_address)) {}

void Connection::start() {
  set_deadline(context_->options.times.head);
  settle();
}

// ---- Reading

void Connection::on_readable() {
  is_read_waiting_ = false;
  guarded([this] {
    const Transfer got = socket_.read({context_->scratch.data(), read_room()});
    if (got.failed) return close();
    if (got.ended) {
      has_ended_ = true;
    } else {
      receive({context_->scratch.data(), got.bytes});
    }
    settle();
  });
}

// Bytes that wait for their turn are bounded; the body of a request is taken as it comes.
std::size_t Connection::read_room() const {
  const bool takes_all = phase_ == Phase::body || phase_ >= Phase::closing;
  if (takes_all) return scratch_bytes;
  const std::size_t limit = std::min(scratch_bytes, context_->options.head.head_bytes + 1);
  return limit - std::min(limit, in_.size());
}

void Connection::receive(std::string_view bytes) {
  if (phase_ >= Phase::closing) return;
  if (!in_.empty()) {
    in_.append(bytes);
    resume();
    return;
  }
  const std::size_t used = process(bytes);
  if (phase_ < Phase::closing) in_.assign(bytes.substr(used));
}

void Connection::resume() {
  if (in_.empty() || phase_ >= Phase::closing) return;
  const std::size_t used = process(in_);
  if (phase_ >= Phase::closing || used == in_.size()) {
    release(in_);
  } else {
    in_.erase(0, used);
  }
}

std::size_t Connection::process(std::string_view bytes) {
  is_processing_ = true;
  std::size_t used = 0;
  while (used < bytes.size()) {
    if (phase_ == Phase::waiting && may_begin()) begin_request();
    std::size_t taken = 0;
    if (phase_ == Phase::head) {
      taken = take_head(bytes.substr(used));
    } else if (phase_ == Phase::body) {
      taken = take_body(bytes.substr(used));
    }
    if (taken == 0) break;
    used += taken;
  }
  is_processing_ = false;
  return used;
}

// A client that sends requests without reading the answers must wait.
bool Connection::may_begin() const {
  return queued_bytes() <= context_->options.write_buffer_bytes;
}

void Connection::begin_request() {
  incoming_ = std::make_unique<Incoming>(context_->options.head);
  phase_ = Phase::head;
  set_deadline(context_->options.times.head);
}

std::size_t Connection::take_head(std::string_view bytes) {
  auto length = incoming_->scanner.scan(bytes);
  if (length && length.value() == 0) return 0;
  if (!length) {
    reject(length.error());
    return 0;
  }
  auto head = parse_request_head(bytes.substr(0, length.value()), context_->options.head);
  if (!head) {
    reject(head.error());
    return 0;
  }
  incoming_->head = std::move(head).value();
  on_head(bytes.size() > length.value());
  return length.value();
}

void Connection::on_head(bool body_has_come) {
  const RequestHead& head = incoming_->head;
  incoming_->exchange.head_only = head.method == "HEAD";
  incoming_->exchange.http_1_0 = head.minor_version == 0;
  incoming_->exchange.keep_alive = head.keep_alive;
  const Router::Match match = context_->router.find(head.method, head.path);
  incoming_->exchange.error_body = match.error_body;
  if (match.error_body != nullptr) incoming_->exchange.path = head.path;
  if (auto access = check_access(); !access) return reject(access.error());

  // An answer that does not wait for the body ends the connection, since the body would follow it.
  const bool keep_alive = head.keep_alive && head.framing == Framing::none;
  if (match.allow.empty()) {
    return answer_error(
        make_error(Errc::route_not_found, "There is no route " + shown(head.path) + "."), {},
        keep_alive);
  }
  if (match.handler == nullptr && head.method == "OPTIONS") return answer_options(match.allow);
  if (match.handler == nullptr) {
    return answer_error(
        make_error(Errc::method_not_allowed, "The route " + shown(head.path) + " does not allow " +
                                                 shown(head.method) + "; use " + match.allow + "."),
        {{"Allow", match.allow}}, keep_alive);
  }
  if (auto coding = check_coding(head); !coding) {
    return answer_error(coding.error(), {{"Accept-Encoding", std::string(identity)}}, keep_alive);
  }
  if (head.content_length > context_->options.body.body_bytes) {
    return reject(oversized_body(context_->options.body.body_bytes));
  }
  incoming_->handler = match.handler;
  if (head.framing == Framing::none) return dispatch();
  incoming_->decoder =
      std::make_unique<BodyDecoder>(head.framing, head.content_length, context_->options.body);
  phase_ = Phase::body;
  set_deadline(context_->options.times.body_span);
  if (head.expects_continue && !body_has_come) queue(continue_line);
}

Result<void> Connection::check_access() {
  const Headers& headers = incoming_->head.headers;
  const std::string_view host = headers.find("Host").value_or("");
  MILLRACE_TRY(context_->access.check_host(host));
  const auto origin = headers.find("Origin");
  if (!origin) return context_->access.check_site(headers.find("Sec-Fetch-Site").value_or(""));
  auto is_foreign = context_->access.check_origin(*origin, host);
  MILLRACE_TRY(is_foreign);
  if (is_foreign.value()) incoming_->exchange.cors_origin = *origin;
  return {};
}

void Connection::answer_options(const std::string& allow) {
  const RequestHead& head = incoming_->head;
  Headers headers{{"Allow", allow}};
  const bool is_preflight = head.headers.find("Access-Control-Request-Method").has_value();
  if (is_preflight && !incoming_->exchange.cors_origin.empty()) {
    headers.add("Access-Control-Allow-Methods", allow);
    headers.add("Access-Control-Max-Age", std::string(preflight_seconds));
    if (const auto wanted = head.headers.find("Access-Control-Request-Headers")) {
      headers.add("Access-Control-Allow-Headers", std::string(*wanted));
    }
  }
  constexpr int no_content = 204;
  answer(no_content, headers, {}, head.keep_alive && head.framing == Framing::none);
}

std::size_t Connection::take_body(std::string_view bytes) {
  auto used = incoming_->decoder->feed(bytes, incoming_->body);
  if (!used) {
    reject(used.error());
    return 0;
  }
  incoming_->span_bytes += used.value();
  if (incoming_->decoder->done()) dispatch();
  return used.value();
}

void Connection::dispatch() {
  const auto incoming = std::move(incoming_);
  phase_ = Phase::responding;
  deadline_ = never;
  const auto stream =
      std::make_shared<ResponseStream>(shared_from_this(), std::move(incoming->exchange));
  response_ = stream;
  RequestHead& head = incoming->head;
  const std::string route = head.path;
  try {
    (*incoming->handler)(
        Request{std::move(head.method), std::move(head.target), std::move(head.path),
                std::move(head.query), std::move(head.headers), std::move(incoming->body),
                remote_address_},
        stream);
  } catch (...) {
    const Error failure =
        make_error(Errc::internal, "The handler of the route " + shown(route) + " failed.");
    if (!stream->send_error(failure) && stream->is_open()) close();
  }
}

// ---- Answering without a handler

void Connection::answer(int status, const Headers& headers, std::string_view body,
                        bool keep_alive) {
  Exchange exchange;
  if (incoming_) exchange = incoming_->exchange;
  incoming_.reset();
  keep_alive = keep_alive && may_go_on();
  ResponseFraming framing;
  if (has_body(status)) framing.content_length = body.size();
  framing.close = !keep_alive;
  framing.write_keep_alive = exchange.http_1_0 && keep_alive;
  framing.cors_origin = exchange.cors_origin;
  queue(response_head(status, headers, framing));
  if (!exchange.head_only) queue(body);
  if (keep_alive) {
    begin_waiting();
  } else {
    begin_closing();
  }
}

void Connection::answer_error(const Error& error, const Headers& headers, bool keep_alive) {
  answer(row_of(error.code).http_status, error_headers(error, headers),
         incoming_ ? error_body(error, incoming_->exchange) : error_body(error), keep_alive);
}

void Connection::reject(const Error& error) {
  answer_error(error, {}, false);
}

}  // namespace millrace::http
