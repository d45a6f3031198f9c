#include "host/fetch_stream.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "host/fetch_response.hpp"
#include "host/runtime_stream.hpp"
#include "http/body_decoder.hpp"
#include "http/request_head.hpp"
#include "http/syntax.hpp"

namespace millrace::host {
namespace {

using json::Tree;

std::string head_json(int status, const http::Headers& headers) {
  Tree head = Tree::object();
  head.set("status", Tree::integer(status));
  Tree& fields = head.set("headers", Tree::array());
  for (const http::Header& field : headers) {
    Tree pair = Tree::array();
    pair.push(Tree::text(field.name));
    pair.push(Tree::text(field.value));
    fields.push(std::move(pair));
  }
  return head.to_json(json::Surrogates::replace);
}

// A host's server that is called by requests has no connection to hand over.
// Source: RFC 9110, section 15.5.22.
http::Answer no_connection() {
  return {426,
          {{"Content-Type", "application/json"}, {"Upgrade", "websocket"}},
          R"({"error":"No route uses WebSockets"})"};
}

// What the server's reader says, which looks at nothing else of such a request.
std::optional<Error> long_target(const http::RequestHead& head) {
  constexpr http::HeadLimits limits;
  if (head.target.size() <= limits.target_bytes) return std::nullopt;
  auto parsed =
      http::parse_request_head(head.method + " " + head.target + " HTTP/1.1\r\n\r\n", limits);
  return parsed ? std::nullopt : std::optional(std::move(parsed).error());
}

}  // namespace

Result<FetchSpec> read_fetch(std::string_view json, std::string body) {
  auto parsed = Tree::parse(json);
  if (!parsed) return std::move(parsed).error();
  const Tree& given = parsed.value();
  FetchSpec spec;
  http::RequestHead& head = spec.head;
  head.method = given["method"].string();
  head.target = given["target"].string();
  if (head.method.empty() || !head.target.starts_with('/')) {
    return make_error(Errc::invalid_argument, "A request has a method and a path.");
  }
  const std::size_t query = head.target.find('?');
  head.path = head.target.substr(0, query);
  if (query != std::string::npos) head.query = head.target.substr(query + 1);
  for (const Tree& field : given["headers"].items()) {
    if (field.items().size() != 2) return make_error(Errc::invalid_argument);
    head.headers.add(std::string(field.items()[0].string()),
                     std::string(field.items()[1].string()));
  }
  spec.remote_address = given["remoteAddress"].string();
  spec.is_peek = given["peek"].is_true();
  spec.is_oversized = given["oversized"].is_true();
  spec.is_fed = given["fed"].is_true();
  if (const std::string_view principal = given["principal"].string(); !principal.empty()) {
    spec.caller =
        std::make_shared<const http::Caller>(http::Caller{std::string(principal), {}, {}});
  }
  spec.body = std::move(body);
  return spec;
}

FetchStream::FetchStream(DrainQueue::StreamId id, HostServices& services,
                         std::shared_ptr<RuntimeStream> runtime, FetchSpec spec)
    : id_(id),
      services_(services),
      runtime_(std::move(runtime)),
      spec_(std::move(spec)),
      room_(services.queue, id),
      stall_(services.loop, services.queue, id, runtime_->reader_stall(), [this] { let_go(); }) {}

void FetchStream::start() {
  runtime_->join(id_, [weak = weak_from_this()](const Error& error) {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    if (const auto response = self->response_.lock()) response->expedite();
    if (!self->closed_) self->close(error_json(error));
  });
  runtime_->when_open([weak = weak_from_this()](const Error* error) {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    error != nullptr ? self->close(error_json(*error)) : self->route();
  });
}

void FetchStream::route() {
  const http::Router& router = runtime_->routes();
  http::RequestHead& head = spec_.head;
  if (const auto error = long_target(head)) {
    const auto response = std::make_shared<Response>(shared_from_this());
    response_ = response;
    return (void)response->send_error(*error, {});
  }
  const http::Router::Match match = router.find(head.method, head.path);
  path_ = head.path;
  is_head_ = head.method == "HEAD";
  error_body_ = match.error_body;
  if (const auto& observer = router.observer()) {
    observed_ =
        std::make_shared<http::ObservedRequest>(observer, head.headers, spec_.remote_address);
    http::RequestReport& report = observed_->report;
    report.method = head.method;
    report.path = head.path;
    report.route = match.path;
    spec_.remote_address = report.identity.address;
    fields_.add(std::string(http::request_id_field), report.identity.id);
  }
  caller_ = spec_.caller;
  http::Zone* const zone = caller_ ? nullptr : router.zone_of(head.path);
  if (zone != nullptr) {
    if (error_body_ == nullptr) error_body_ = zone->error_body(head.path);
    for (const http::Header& field : zone->fields(head)) fields_.add(field.name, field.value);
    http::Zone::Admission admission = zone->admit(head, spec_.remote_address, !spec_.is_peek);
    if (observed_) observed_->report.caller = admission.caller;
    if (!admission.refusal && match.handler == nullptr) {
      admission.refusal = zone->unknown(match.allow);
    }
    if (admission.refusal) return answer(*admission.refusal);
    caller_ = std::move(admission.caller);
  }
  if (http::list_contains(head.headers.find("Upgrade").value_or(""), "websocket")) {
    return answer(no_connection());
  }
  const auto response = std::make_shared<Response>(shared_from_this());
  response_ = response;
  // Who stands behind the host is not known here.
  if (zone == nullptr && !caller_ && match.handler != nullptr) {
    return (void)response->send_error(
        make_error(Errc::unauthorized, "Requests that a host passes on need a key: `api.keys`."),
        {{"WWW-Authenticate", "Bearer"}});
  }
  if (match.handler == nullptr) {
    return (void)response->send_error(
        make_error(match.allow.empty() ? Errc::route_not_found : Errc::method_not_allowed), {});
  }
  if (auto coding = http::check_coding(head.headers); !coding) {
    return (void)response->send_error(coding.error(), {{"Accept-Encoding", "identity"}});
  }
  const std::uint64_t limit = match.body_limit(head.method, zone == nullptr || caller_ != nullptr,
                                               http::BodyLimits{}.body_bytes);
  const auto length = head.headers.find("Content-Length").value_or("0");
  std::uint64_t announced = 0;
  std::from_chars(length.data(), length.data() + length.size(), announced);
  const std::uint64_t size =
      std::max<std::uint64_t>(spec_.body.size(), spec_.is_peek ? announced : 0);
  if (spec_.is_oversized || size > limit) {
    return (void)response->send_error(http::oversized_body(limit), {});
  }
  if (spec_.is_peek && match.allows(caller_.get())) {
    return let_come(limit, match.sink != nullptr);
  }
  most_bytes_ = limit;
  dispatch(match, response);
}

// The request is reported when it comes.
void FetchStream::let_come(std::uint64_t body_bytes, bool is_fed) {
  if (observed_) observed_->forget();
  Tree head = Tree::object();
  head.set("bodyBytes", Tree::integer(static_cast<std::int64_t>(body_bytes)));
  head.set("isFed", Tree::flag(is_fed));
  services_.queue.push_head(id_, head.to_json());
  close({});
}

void FetchStream::dispatch(const http::Router::Match& match,
                           const std::shared_ptr<Response>& response) {
  if (match.sink != nullptr && match.allows(caller_.get())) {
    auto made = (*match.sink)(spec_.head);
    if (!made) return (void)response->send_error(made.error(), {});
    sink_ = std::move(made).value();
  }
  if (!spec_.is_fed || !sink_) {
    if (sink_) sink_->write(std::exchange(spec_.body, {}));
    return handle(*match.handler, response);
  }
  handler_ = *match.handler;
  feeding_ = response;
  sink_->on_room([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->announce_room();
  });
  announce_room();
}

void FetchStream::announce_room() {
  if (!closed_ && feeding_) services_.queue.push_head(id_, R"({"hasRoom":true})");
}

void FetchStream::feed(std::string_view bytes) {
  if (closed_ || !feeding_) return;
  fed_bytes_ += bytes.size();
  if (fed_bytes_ > most_bytes_) {
    sink_.reset();
    return (void)std::exchange(feeding_, nullptr)
        ->send_error(http::oversized_body(most_bytes_), {});
  }
  if (sink_->write(bytes)) announce_room();
}

void FetchStream::fed() {
  if (closed_ || !feeding_) return;
  const auto response = std::exchange(feeding_, nullptr);
  handle(std::exchange(handler_, nullptr), response);
}

void FetchStream::handle(const http::Handler& handler, const std::shared_ptr<Response>& response) {
  http::RequestHead& head = spec_.head;
  const auto identity = observed_ ? observed_->report.identity : http::RequestIdentity();
  handler(http::Request{std::move(head.method), std::move(head.target), std::move(head.path),
                        std::move(head.query), std::move(head.headers), std::move(spec_.body),
                        std::move(spec_.remote_address), std::move(caller_), identity.id,
                        identity.trace, std::move(sink_)},
          response);
}

void FetchStream::answer(const http::Answer& answer) {
  open(answer.status, answer.headers);
  if (!answer.body.empty() && !is_head_) push(answer.body);
  close({});
}

void FetchStream::open(int status, const http::Headers& headers) {
  if (observed_) observed_->report.status = status;
  http::Headers all = headers;
  for (const http::Header& field : fields_) {
    if (headers.count(field.name) == 0) all.add(field.name, field.value);
  }
  services_.queue.push_head(id_, head_json(status, all));
}

bool FetchStream::push(std::string_view bytes) {
  if (closed_) return false;
  if (observed_) observed_->report.bytes += bytes.size();
  services_.on_output(bytes.size());
  stall_.watch();
  return services_.queue.push(id_, bytes);
}

void FetchStream::let_go() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  observed_.reset();
  sink_.reset();
  runtime_->leave(id_);
  services_.queue.abort(id_, error_json(stall_.error()));
  services_.forget(id_);
  if (const auto response = response_.lock()) response->closed();
  feeding_.reset();
}

void FetchStream::close(std::string end) {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  stall_.cancel();
  if (observed_) observed_->report.is_complete = end.empty();
  observed_.reset();
  runtime_->leave(id_);
  services_.queue.end(id_, std::move(end));
  services_.forget(id_);
}

void FetchStream::resume() {
  room_.grow();
  if (const auto response = response_.lock()) response->drained();
}

void FetchStream::silence() {
  closed_ = true;
  observed_.reset();
  sink_.reset();
  feeding_.reset();
  if (const auto response = response_.lock()) response->closed();
}

void FetchStream::cancel() {
  if (std::exchange(closed_, true)) return;
  stall_.cancel();
  observed_.reset();
  sink_.reset();
  runtime_->leave(id_);
  if (const auto response = response_.lock()) response->closed();
  feeding_.reset();
}

}  // namespace millrace::host
