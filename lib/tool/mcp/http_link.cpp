// What is sent, and the ends of transfers. Answers' heads are http_link_answers.cpp's.
#include "tool/mcp/http_link.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tool/mcp/http_link_leg.hpp"

namespace millrace::mcp {

using std::chrono::milliseconds;

namespace {

// What a message without an answer may take: an answer to the server may be long.
constexpr milliseconds notification_time{10'000};
constexpr milliseconds answer_time{60'000};
// How long requests wait for the server's own stream: for its beginning, and then for its head.
constexpr milliseconds accept_time{1000};

// A transport's error as a call's. Whether a call that was sent had an effect is not known.
Error transport_error(const Error& error, bool is_opening) {
  constexpr std::array<Errc, 5> unmade{Errc::name_resolution_failed, Errc::connect_failed,
                                       Errc::connect_timeout, Errc::proxy_failed, Errc::tls_failed};
  const bool is_unmade = std::find(unmade.begin(), unmade.end(), error.code) != unmade.end();
  if (!is_unmade && error.code != Errc::connection_lost) return error;
  const bool is_lost = !is_unmade && !is_opening;
  return make_error(is_lost ? Errc::mcp_session_lost : Errc::mcp_connection_failed,
                    is_lost ? error.message + " The call may have had an effect."
                            : "The MCP server cannot be reached: " + error.message,
                    error.detail);
}

// Why an answer that came whole ends no request.
std::string what_is_wrong(std::string_view body) {
  if (json::trim(body).empty()) return "The MCP server's answer is empty.";
  json::Document document;
  return document.parse(body) ? "The MCP server's answer belongs to no request."
                              : "The MCP server's answer is not JSON.";
}

}  // namespace

HttpLink::HttpLink(HttpLinkOptions options, HttpLinkHost& host)
    : options_(std::move(options)), host_(host), authorization_(options_.authorization) {
  reset();
}

HttpLink::~HttpLink() = default;

void HttpLink::reset() {
  std::vector<ExchangeId> open;
  for (const auto& [id, exchange] : exchanges_) open.push_back(id);
  for (const ExchangeId id : open) drop_exchange(id);
  is_legacy_ = options_.legacy;
  post_url_ = is_legacy_ ? std::string() : options_.url;
  session_id_.clear();
  held_.clear();
  unaddressed_.clear();
  gated_.clear();
  gate_until_.reset();
  listener_ = 0;
}

void HttpLink::send(Outgoing message, TimePoint now) {
  now_ = now;
  if (is_closing_) return;
  if (message.method == "initialize") begin_session();
  if (is_legacy_ && post_url_.empty()) {
    unaddressed_.push_back(std::move(message));
    if (listener_ == 0) listen();
    return;
  }
  const bool is_request = message.kind == MessageKind::request && message.method != "initialize";
  if (gate_until_ && is_request) return gated_.push_back(std::move(message));
  const bool is_ready = message.method == "notifications/initialized";
  if (is_ready && !is_legacy_ && message.era == Era::handshake && listener_ == 0) {
    gate_until_ = now_ + accept_time;
  }
  post(std::move(message));
}

// The older pair's sessions begin with their stream.
void HttpLink::begin_session() {
  session_id_.clear();
  if (!is_legacy_ || post_url_.empty()) return;
  drop_exchange(listener_);
  post_url_.clear();
}

void HttpLink::open_gate() {
  if (!gate_until_) return;
  gate_until_.reset();
  std::deque<Outgoing> waiting;
  waiting.swap(gated_);
  for (Outgoing& message : waiting) post(std::move(message));
}

void HttpLink::post(Outgoing message) {
  auto exchange = std::make_unique<Exchange>();
  exchange->purpose = Purpose::post;
  exchange->url = post_url_;
  exchange->message = std::move(message);
  begin(std::move(exchange));
}

void HttpLink::begin(std::unique_ptr<Exchange> exchange) {
  const ExchangeId id = next_exchange_++;
  Exchange& begun = *exchange;
  exchanges_.emplace(id, std::move(exchange));
  start(id, begun);
}

void HttpLink::start(ExchangeId id, Exchange& exchange) {
  exchange.starts_at.reset();
  if (exchange.purpose == Purpose::post && exchange.message.kind != MessageKind::request) {
    const bool is_notification = exchange.message.kind == MessageKind::notification;
    exchange.ends_at = now_ + (is_notification ? notification_time : answer_time);
  }
  exchange.is_running = true;
  exchange.status = 0;
  exchange.reading = Reading::nothing;
  exchange.body.clear();
  framing::FramingLimits limits;
  limits.line_bytes = options_.message_bytes;
  limits.event_bytes = options_.message_bytes;
  exchange.framing.emplace(framing::SseDispatch::blank_line, limits);
  exchange.used_session = session_id_;
  exchange.sent_as = authorization_number_;
  host_.fetch(id, request_of(exchange));
}

HttpRequest HttpLink::request_of(const Exchange& exchange) const {
  HttpRequest http_request;
  http_request.url = exchange.url;
  http_request.headers = headers_of(exchange);
  switch (exchange.purpose) {
    case Purpose::post:
      http_request.method = "POST";
      http_request.body = exchange.message.json;
      break;
    case Purpose::terminate: http_request.method = "DELETE"; break;
    case Purpose::listen:
    case Purpose::resume: http_request.method = "GET";
  }
  return http_request;
}

std::vector<HttpField> HttpLink::headers_of(const Exchange& exchange) const {
  std::vector<HttpField> headers;
  const auto add = [&](std::string_view name, std::string_view value) {
    HttpField field;
    field.name = name;
    field.value = value;
    headers.push_back(std::move(field));
  };
  for (const HttpField& field : options_.headers) {
    const bool is_replaced =
        std::any_of(authorization_.begin(), authorization_.end(),
                    [&](const HttpField& other) { return same_name(other.name, field.name); });
    if (!is_replaced && !is_own_header(field.name)) headers.push_back(field);
  }
  headers.insert(headers.end(), authorization_.begin(), authorization_.end());
  const Outgoing& message = exchange.message;
  if (exchange.purpose == Purpose::post) {
    add("Content-Type", "application/json");
    add("Accept", "application/json, text/event-stream");
  } else {
    add("Accept", "text/event-stream");
  }
  if (!session_id_.empty()) add("Mcp-Session-Id", session_id_);
  if (!message.version.empty() && message.method != "initialize") {
    add("MCP-Protocol-Version", message.version);
  }
  if (!exchange.last_event_id.empty()) add("Last-Event-ID", exchange.last_event_id);
  if (message.era == Era::per_request && exchange.purpose == Purpose::post) {
    if (!message.method.empty()) add("Mcp-Method", message.method);
    if (!message.name.empty()) add("Mcp-Name", header_field(message.name));
    for (const ParamHeader& header : message.headers) add(header.name, header.value);
  }
  return headers;
}

// The stream on which a server sends messages of its own.
void HttpLink::listen() {
  auto exchange = std::make_unique<Exchange>();
  exchange->purpose = Purpose::listen;
  exchange->url = options_.url;
  exchange->message.version = version_;
  listener_ = next_exchange_;
  begin(std::move(exchange));
}

void HttpLink::drop(RequestId id) {
  std::erase_if(held_, [&](const auto& exchange) { return exchange->message.id == id; });
  std::erase_if(gated_, [&](const Outgoing& message) { return message.id == id; });
  std::vector<ExchangeId> useless;
  for (const auto& [exchange_id, exchange] : exchanges_) {
    if (exchange->message.kind == MessageKind::request && exchange->message.id == id && id != 0) {
      useless.push_back(exchange_id);
    }
  }
  for (const ExchangeId exchange_id : useless) drop_exchange(exchange_id);
}

void HttpLink::drop_exchange(ExchangeId id) {
  const auto exchange = take(id);
  if (exchange && exchange->is_running) host_.abandon(id);
}

std::unique_ptr<HttpLink::Exchange> HttpLink::take(ExchangeId id) {
  const auto at = exchanges_.find(id);
  if (at == exchanges_.end()) return nullptr;
  auto exchange = std::move(at->second);
  exchanges_.erase(at);
  if (id == listener_) listener_ = 0;
  return exchange;
}

void HttpLink::authorize(std::vector<HttpField> headers, TimePoint now) {
  now_ = now;
  authorization_ = std::move(headers);
  ++authorization_number_;
  std::vector<std::unique_ptr<Exchange>> held;
  held.swap(held_);
  for (auto& exchange : held) begin(std::move(exchange));
}

void HttpLink::reject(const Error& error) {
  std::vector<std::unique_ptr<Exchange>> held;
  held.swap(held_);
  for (const auto& exchange : held) fail(*exchange, error);
}

void HttpLink::close() {
  if (is_closing_) return;
  is_closing_ = true;
  std::vector<ExchangeId> open;
  for (const auto& [id, exchange] : exchanges_) open.push_back(id);
  for (const ExchangeId id : open) drop_exchange(id);
  held_.clear();
  gated_.clear();
  gate_until_.reset();
  if (session_id_.empty() || is_legacy_) return host_.closed();
  auto exchange = std::make_unique<Exchange>();
  exchange->purpose = Purpose::terminate;
  exchange->url = options_.url;
  exchange->message.version = version_;
  begin(std::move(exchange));
}

void HttpLink::fail(const Exchange& exchange, Error error) {
  if (exchange.message.kind == MessageKind::request && exchange.message.id != 0) {
    host_.request_failed(exchange.message.id, std::move(error));
  }
}

void HttpLink::on_done(ExchangeId id, std::optional<Error> error, TimePoint now) {
  now_ = now;
  auto exchange = take(id);
  if (!exchange) return;
  exchange->is_running = false;
  switch (exchange->purpose) {
    case Purpose::post: return post_done(std::move(exchange), std::move(error), now);
    case Purpose::terminate: return host_.closed();
    case Purpose::listen:
    case Purpose::resume: return stream_done(std::move(exchange), std::move(error), now);
  }
}

void HttpLink::post_done(std::unique_ptr<Exchange> exchange, std::optional<Error> error,
                         TimePoint now) {
  const Outgoing& message = exchange->message;
  // The status alone tells what 404 means.
  const bool is_rejected =
      exchange->reading == Reading::failure && (!error || exchange->status == 404);
  if (is_rejected) explain(*exchange);
  if (message.kind != MessageKind::request) {
    if (!error && !is_rejected) return on_accepted(message);
    if (message.method == "notifications/initialized") open_gate();
    return;
  }
  if (is_rejected) return;
  if (exchange->reading == Reading::json && !error) host_.received(exchange->body, message.id);
  // In the older pair the answer comes on the stream.
  if (is_legacy_ && !error) return;
  if (!host_.waits_for(message.id)) return;
  if (exchange->reading == Reading::events && message.era == Era::handshake &&
      !exchange->last_event_id.empty()) {
    exchange->purpose = Purpose::resume;
    exchange->url = options_.url;
    return try_again(std::move(exchange), std::move(error), now);
  }
  if (exchange->status == 0 && error) {
    const bool is_opening = message.method == "initialize" || message.method == "server/discover";
    return fail(*exchange, transport_error(*error, is_opening));
  }
  if (error && error->code == Errc::response_too_large) return fail(*exchange, std::move(*error));
  fail(*exchange,
       exchange->reading == Reading::json && !error
           ? make_error(Errc::mcp_protocol_error, what_is_wrong(exchange->body), exchange->body)
           : make_error(Errc::mcp_session_lost,
                        "The MCP server's answer ended before it was complete; the "
                        "call may have had an effect.",
                        error ? error->message : std::string()));
}

void HttpLink::stream_done(std::unique_ptr<Exchange> exchange, std::optional<Error> error,
                           TimePoint now) {
  if (is_legacy_) {
    const bool is_opening = post_url_.empty();
    post_url_.clear();
    std::string message = "The MCP server's event stream ended.";
    if (exchange->status != 200 && exchange->status != 0) {
      message = "The MCP server answered with status " + std::to_string(exchange->status) +
                " where an event stream was expected.";
    }
    return host_.broken(
        error ? transport_error(*error, is_opening)
              : make_error(Errc::mcp_session_lost, std::move(message), exchange->body));
  }
  if (exchange->purpose == Purpose::listen) open_gate();
  if (exchange->purpose == Purpose::resume && !host_.waits_for(exchange->message.id)) return;
  // 405 says that there is no such stream; anything else may pass.
  if (exchange->status == 405 || exchange->status == 404 || exchange->status == 400) {
    return fail(*exchange, make_error(Errc::mcp_session_lost,
                                      "The MCP server cannot resume the answer (HTTP status " +
                                          std::to_string(exchange->status) +
                                          "); the call may have had an effect."));
  }
  try_again(std::move(exchange), std::move(error), now);
}

void HttpLink::try_again(std::unique_ptr<Exchange> exchange, std::optional<Error> error,
                         TimePoint now) {
  if (exchange->attempts >= options_.most_attempts || is_closing_) {
    return fail(*exchange, make_error(Errc::mcp_session_lost,
                                      "The MCP server's answer ended and could not be resumed; "
                                      "the call may have had an effect.",
                                      error ? error->message : std::string()));
  }
  milliseconds wait = options_.first_wait * (1 << std::min(exchange->attempts, 10));
  wait = std::min(wait, options_.longest_wait);
  if (const auto server_requested = exchange->framing ? exchange->framing->retry() : std::nullopt) {
    exchange->retry = milliseconds(std::min<std::int64_t>(*server_requested, 3'600'000));
  }
  if (exchange->retry) wait = *exchange->retry;
  ++exchange->attempts;
  exchange->starts_at = now + wait;
  exchange->is_running = false;
  const ExchangeId id = next_exchange_++;
  if (exchange->purpose == Purpose::listen) listener_ = id;
  exchanges_.emplace(id, std::move(exchange));
}

std::optional<TimePoint> HttpLink::next_deadline() const {
  std::optional<TimePoint> next = gate_until_;
  const auto consider = [&](const std::optional<TimePoint>& at) {
    if (at) next = std::min(next.value_or(*at), *at);
  };
  for (const auto& [id, exchange] : exchanges_) {
    consider(exchange->starts_at);
    consider(exchange->ends_at);
  }
  return next;
}

// A message that nobody answers has been long enough on its way.
void HttpLink::end_exchange(ExchangeId id) {
  const auto exchange = take(id);
  if (!exchange) return;
  host_.abandon(id);
  if (exchange->status >= 200 && exchange->status < 300) on_accepted(exchange->message);
}

void HttpLink::on_timer(TimePoint now) {
  now_ = now;
  if (gate_until_ && *gate_until_ <= now) open_gate();
  std::vector<ExchangeId> due;
  std::vector<ExchangeId> over;
  for (const auto& [id, exchange] : exchanges_) {
    if (exchange->starts_at && *exchange->starts_at <= now) due.push_back(id);
    if (exchange->ends_at && *exchange->ends_at <= now) over.push_back(id);
  }
  for (const ExchangeId id : over) end_exchange(id);
  for (const ExchangeId id : due) {
    const auto at = exchanges_.find(id);
    if (at != exchanges_.end()) start(id, *at->second);
  }
}

}  // namespace millrace::mcp
