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
  if (phase_ == Phase::body && incoming_->is_held) return 0;
  if (phase_ == Phase::body && incoming_->sink) {
    return std::min(scratch_bytes, incoming_->sink->read_limit());
  }
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
  incoming_ = std::make_unique<Incoming>(context_->options.head, context_->buffered_bytes);
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
  observe(incoming_->exchange, head);
  const Router::Match match = context_->router.find(head.method, head.path);
  if (incoming_->exchange.observed) incoming_->exchange.observed->report.route = match.path;
  incoming_->exchange.error_body = match.error_body;
  if (match.error_body != nullptr) incoming_->exchange.path = head.path;
  Zone* const zone = context_->router.zone_of(head.path);
  if (zone != nullptr) {
    if (!enter_zone(*zone, match)) return;
  } else if (auto access = check_access(); !access) {
    return reject(access.error());
  }

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
  if (auto coding = check_coding(head.headers); !coding) {
    return answer_error(coding.error(), {{"Accept-Encoding", std::string(identity)}}, keep_alive);
  }
  BodyLimits limits = context_->options.body;
  const bool is_known = zone == nullptr || incoming_->caller != nullptr;
  limits.body_bytes = match.body_limit(head.method, is_known, limits.body_bytes);
  if (head.content_length > limits.body_bytes) return reject(oversized_body(limits.body_bytes));
  incoming_->handler = match.handler;
  if (head.framing == Framing::none) return dispatch();
  if (!match.allows(incoming_->caller.get())) {
    incoming_->exchange.keep_alive = false;
    return dispatch();
  }
  if (match.sink != nullptr && !begin_sink(match)) return;
  incoming_->decoder = std::make_unique<BodyDecoder>(head.framing, head.content_length, limits);
  phase_ = Phase::body;
  set_deadline(context_->options.times.body_span);
  if (head.expects_continue && !body_has_come) queue(continue_line);
}

// False when the request is answered.
bool Connection::begin_sink(const Router::Match& match) {
  auto sink = (*match.sink)(incoming_->head);
  if (!sink) {
    reject(sink.error());
    return false;
  }
  incoming_->sink = std::move(sink).value();
  if (incoming_->sink) {
    incoming_->sink->on_room([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->on_sink_room();
    });
  }
  return true;
}

void Connection::on_sink_room() {
  guarded([this] {
    if (!incoming_ || !std::exchange(incoming_->is_held, false)) return;
    // The time that it was held is not the client's.
    set_deadline(context_->options.times.body_span);
    incoming_->span_bytes = 0;
    settle();
  });
}

// False when the zone has answered.
bool Connection::enter_zone(Zone& zone, const Router::Match& match) {
  const RequestHead& head = incoming_->head;
  Exchange& exchange = incoming_->exchange;
  if (exchange.error_body == nullptr) exchange.error_body = zone.error_body(head.path);
  exchange.path = head.path;
  if (auto host = context_->access.check_host(head.headers.find("Host").value_or("")); !host) {
    reject(host.error());
    return false;
  }
  for (const Header& field : zone.fields(head)) exchange.fields.add(field.name, field.value);
  Zone::Admission admission = zone.admit(
      head, exchange.observed ? exchange.observed->report.identity.address : remote_address_);
  if (exchange.observed) exchange.observed->report.caller = admission.caller;
  if (!admission.refusal && match.handler == nullptr) admission.refusal = zone.unknown(match.allow);
  if (admission.refusal) {
    const Answer& refusal = *admission.refusal;
    answer(refusal.status, refusal.headers, refusal.body,
           head.keep_alive && head.framing == Framing::none);
    return false;
  }
  incoming_->caller = std::move(admission.caller);
  return true;
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
  if (!incoming_->buffered.set(incoming_->sink ? 0 : incoming_->body.size(),
                               context_->options.buffered_body_bytes)) {
    reject(make_error(Errc::too_much_work,
                      "The bodies of requests take too much memory; try again later."));
    return 0;
  }
  if (incoming_->sink && !incoming_->body.empty()) {
    incoming_->is_held = !incoming_->sink->write(incoming_->body);
    release(incoming_->body);
  }
  if (incoming_->decoder->done()) dispatch();
  return used.value();
}

void Connection::dispatch() {
  const auto incoming = std::move(incoming_);
  phase_ = Phase::responding;
  deadline_ = never;
  const auto stream =
      std::make_shared<ConnectionResponse>(shared_from_this(), std::move(incoming->exchange));
  response_ = stream;
  RequestHead& head = incoming->head;
  const std::string route = head.path;
  const RequestIdentity identity = stream->identity();
  try {
    (*incoming->handler)(
        Request{std::move(head.method), std::move(head.target), std::move(head.path),
                std::move(head.query), std::move(head.headers), std::move(incoming->body),
                identity.id.empty() ? remote_address_ : identity.address,
                std::move(incoming->caller), identity.id, identity.trace,
                std::move(incoming->sink)},
        stream);
  } catch (...) {
    const Error failure =
        make_error(Errc::internal, "The handler of the route " + shown(route) + " failed.");
    if (!stream->send_error(failure, {}) && stream->is_open()) close();
  }
}

// ---- Answering without a handler

// Its id is a field of every answer to it.
void Connection::observe(Exchange& exchange, const RequestHead& head) const {
  const auto& observer = context_->router.observer();
  if (observer == nullptr || exchange.observed) return;
  exchange.observed = std::make_shared<ObservedRequest>(observer, head.headers, remote_address_);
  RequestReport& report = exchange.observed->report;
  report.method = head.method;
  report.path = head.path;
  exchange.fields.add(std::string(request_id_field), report.identity.id);
}

void Connection::answer(int status, const Headers& headers, std::string_view body,
                        bool keep_alive) {
  Exchange exchange;
  if (incoming_) exchange = incoming_->exchange;
  incoming_.reset();
  // Of a head that could not be read, too.
  observe(exchange, RequestHead());
  if (exchange.observed) {
    RequestReport& report = exchange.observed->report;
    report.status = status;
    report.bytes = exchange.head_only ? 0 : body.size();
    report.is_complete = true;
  }
  keep_alive = keep_alive && may_go_on();
  ResponseFraming framing;
  if (has_body(status)) framing.content_length = body.size();
  framing.close = !keep_alive;
  framing.write_keep_alive = exchange.http_1_0 && keep_alive;
  framing.cors_origin = exchange.cors_origin;
  framing.fields = &exchange.fields;
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
