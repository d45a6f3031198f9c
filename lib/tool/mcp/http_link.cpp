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
  std::vector<LegId> open;
  for (const auto& [id, leg] : legs_) open.push_back(id);
  for (const LegId id : open) drop_leg(id);
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
  drop_leg(listener_);
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
  auto leg = std::make_unique<Leg>();
  leg->purpose = Purpose::post;
  leg->url = post_url_;
  leg->message = std::move(message);
  begin(std::move(leg));
}

void HttpLink::begin(std::unique_ptr<Leg> leg) {
  const LegId id = next_leg_++;
  Leg& begun = *leg;
  legs_.emplace(id, std::move(leg));
  start(id, begun);
}

void HttpLink::start(LegId id, Leg& leg) {
  leg.starts_at.reset();
  if (leg.purpose == Purpose::post && leg.message.kind != MessageKind::request) {
    const bool is_notification = leg.message.kind == MessageKind::notification;
    leg.ends_at = now_ + (is_notification ? notification_time : answer_time);
  }
  leg.is_running = true;
  leg.status = 0;
  leg.reading = Reading::nothing;
  leg.body.clear();
  framing::FramingLimits limits;
  limits.line_bytes = options_.message_bytes;
  limits.event_bytes = options_.message_bytes;
  leg.framing.emplace(framing::SseDispatch::blank_line, limits);
  leg.used_session = session_id_;
  leg.sent_as = authorization_number_;
  host_.fetch(id, ask_of(leg));
}

HttpAsk HttpLink::ask_of(const Leg& leg) const {
  HttpAsk ask;
  ask.url = leg.url;
  ask.headers = headers_of(leg);
  switch (leg.purpose) {
    case Purpose::post:
      ask.method = "POST";
      ask.body = leg.message.json;
      break;
    case Purpose::terminate: ask.method = "DELETE"; break;
    case Purpose::listen:
    case Purpose::resume: ask.method = "GET";
  }
  return ask;
}

std::vector<HttpField> HttpLink::headers_of(const Leg& leg) const {
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
  const Outgoing& message = leg.message;
  if (leg.purpose == Purpose::post) {
    add("Content-Type", "application/json");
    add("Accept", "application/json, text/event-stream");
  } else {
    add("Accept", "text/event-stream");
  }
  if (!session_id_.empty()) add("Mcp-Session-Id", session_id_);
  if (!message.version.empty() && message.method != "initialize") {
    add("MCP-Protocol-Version", message.version);
  }
  if (!leg.last_event_id.empty()) add("Last-Event-ID", leg.last_event_id);
  if (message.era == Era::per_request && leg.purpose == Purpose::post) {
    if (!message.method.empty()) add("Mcp-Method", message.method);
    if (!message.name.empty()) add("Mcp-Name", header_field(message.name));
    for (const ParamHeader& header : message.headers) add(header.name, header.value);
  }
  return headers;
}

// The stream on which a server speaks without being asked.
void HttpLink::listen() {
  auto leg = std::make_unique<Leg>();
  leg->purpose = Purpose::listen;
  leg->url = options_.url;
  leg->message.version = version_;
  listener_ = next_leg_;
  begin(std::move(leg));
}

void HttpLink::drop(RequestId id) {
  std::erase_if(held_, [&](const auto& leg) { return leg->message.id == id; });
  std::erase_if(gated_, [&](const Outgoing& message) { return message.id == id; });
  std::vector<LegId> useless;
  for (const auto& [leg_id, leg] : legs_) {
    if (leg->message.kind == MessageKind::request && leg->message.id == id && id != 0) {
      useless.push_back(leg_id);
    }
  }
  for (const LegId leg_id : useless) drop_leg(leg_id);
}

void HttpLink::drop_leg(LegId id) {
  const auto leg = take(id);
  if (leg && leg->is_running) host_.abandon(id);
}

std::unique_ptr<HttpLink::Leg> HttpLink::take(LegId id) {
  const auto at = legs_.find(id);
  if (at == legs_.end()) return nullptr;
  auto leg = std::move(at->second);
  legs_.erase(at);
  if (id == listener_) listener_ = 0;
  return leg;
}

void HttpLink::authorize(std::vector<HttpField> headers, TimePoint now) {
  now_ = now;
  authorization_ = std::move(headers);
  ++authorization_number_;
  std::vector<std::unique_ptr<Leg>> held;
  held.swap(held_);
  for (auto& leg : held) begin(std::move(leg));
}

void HttpLink::refuse(const Error& error) {
  std::vector<std::unique_ptr<Leg>> held;
  held.swap(held_);
  for (const auto& leg : held) fail(*leg, error);
}

void HttpLink::close() {
  if (is_closing_) return;
  is_closing_ = true;
  std::vector<LegId> open;
  for (const auto& [id, leg] : legs_) open.push_back(id);
  for (const LegId id : open) drop_leg(id);
  held_.clear();
  gated_.clear();
  gate_until_.reset();
  if (session_id_.empty() || is_legacy_) return host_.closed();
  auto leg = std::make_unique<Leg>();
  leg->purpose = Purpose::terminate;
  leg->url = options_.url;
  leg->message.version = version_;
  terminator_ = next_leg_;
  begin(std::move(leg));
}

void HttpLink::fail(const Leg& leg, Error error) {
  if (leg.message.kind == MessageKind::request && leg.message.id != 0) {
    host_.request_failed(leg.message.id, std::move(error));
  }
}

void HttpLink::on_done(LegId id, std::optional<Error> error, TimePoint now) {
  now_ = now;
  auto leg = take(id);
  if (!leg) return;
  leg->is_running = false;
  switch (leg->purpose) {
    case Purpose::post: return post_done(std::move(leg), std::move(error), now);
    case Purpose::terminate: return host_.closed();
    case Purpose::listen:
    case Purpose::resume: return stream_done(std::move(leg), std::move(error), now);
  }
}

void HttpLink::post_done(std::unique_ptr<Leg> leg, std::optional<Error> error, TimePoint now) {
  const Outgoing& message = leg->message;
  // The status alone tells what 404 means.
  const bool is_refused = leg->reading == Reading::failure && (!error || leg->status == 404);
  if (is_refused) explain(*leg);
  if (message.kind != MessageKind::request) {
    if (!error && !is_refused) return on_accepted(message);
    if (message.method == "notifications/initialized") open_gate();
    return;
  }
  if (is_refused) return;
  if (leg->reading == Reading::json && !error) host_.received(leg->body, message.id);
  // In the older pair the answer comes on the stream.
  if (is_legacy_ && !error) return;
  if (!host_.waits_for(message.id)) return;
  if (leg->reading == Reading::events && message.era == Era::handshake &&
      !leg->last_event_id.empty()) {
    leg->purpose = Purpose::resume;
    leg->url = options_.url;
    return try_again(std::move(leg), std::move(error), now);
  }
  if (leg->status == 0 && error) {
    const bool is_opening = message.method == "initialize" || message.method == "server/discover";
    return fail(*leg, transport_error(*error, is_opening));
  }
  if (error && error->code == Errc::response_too_large) return fail(*leg, std::move(*error));
  fail(*leg, leg->reading == Reading::json && !error
                 ? make_error(Errc::mcp_protocol_error, what_is_wrong(leg->body), leg->body)
                 : make_error(Errc::mcp_session_lost,
                              "The MCP server's answer ended before it was complete; the "
                              "call may have had an effect.",
                              error ? error->message : std::string()));
}

void HttpLink::stream_done(std::unique_ptr<Leg> leg, std::optional<Error> error, TimePoint now) {
  if (is_legacy_) {
    const bool is_opening = post_url_.empty();
    post_url_.clear();
    std::string message = "The MCP server's event stream ended.";
    if (leg->status != 200 && leg->status != 0) {
      message = "The MCP server answered with status " + std::to_string(leg->status) +
                " where an event stream was expected.";
    }
    return host_.broken(error ? transport_error(*error, is_opening)
                              : make_error(Errc::mcp_session_lost, std::move(message), leg->body));
  }
  if (leg->purpose == Purpose::listen) open_gate();
  if (leg->purpose == Purpose::resume && !host_.waits_for(leg->message.id)) return;
  // 405 says that there is no such stream; anything else may pass.
  if (leg->status == 405 || leg->status == 404 || leg->status == 400) {
    return fail(
        *leg, make_error(Errc::mcp_session_lost,
                         "The MCP server cannot resume the answer (HTTP status " +
                             std::to_string(leg->status) + "); the call may have had an effect."));
  }
  try_again(std::move(leg), std::move(error), now);
}

void HttpLink::try_again(std::unique_ptr<Leg> leg, std::optional<Error> error, TimePoint now) {
  if (leg->attempts >= options_.most_attempts || is_closing_) {
    return fail(*leg, make_error(Errc::mcp_session_lost,
                                 "The MCP server's answer ended and could not be resumed; "
                                 "the call may have had an effect.",
                                 error ? error->message : std::string()));
  }
  milliseconds wait = options_.first_wait * (1 << std::min(leg->attempts, 10));
  wait = std::min(wait, options_.longest_wait);
  if (const auto asked = leg->framing ? leg->framing->retry() : std::nullopt) {
    leg->retry = milliseconds(std::min<std::int64_t>(*asked, 3'600'000));
  }
  if (leg->retry) wait = *leg->retry;
  ++leg->attempts;
  leg->starts_at = now + wait;
  leg->is_running = false;
  const LegId id = next_leg_++;
  if (leg->purpose == Purpose::listen) listener_ = id;
  legs_.emplace(id, std::move(leg));
}

std::optional<TimePoint> HttpLink::next_deadline() const {
  std::optional<TimePoint> next = gate_until_;
  const auto consider = [&](const std::optional<TimePoint>& at) {
    if (at) next = std::min(next.value_or(*at), *at);
  };
  for (const auto& [id, leg] : legs_) {
    consider(leg->starts_at);
    consider(leg->ends_at);
  }
  return next;
}

// A message that nobody answers has been long enough on its way.
void HttpLink::end_leg(LegId id) {
  const auto leg = take(id);
  if (!leg) return;
  host_.abandon(id);
  if (leg->status >= 200 && leg->status < 300) on_accepted(leg->message);
}

void HttpLink::on_timer(TimePoint now) {
  now_ = now;
  if (gate_until_ && *gate_until_ <= now) open_gate();
  std::vector<LegId> due;
  std::vector<LegId> over;
  for (const auto& [id, leg] : legs_) {
    if (leg->starts_at && *leg->starts_at <= now) due.push_back(id);
    if (leg->ends_at && *leg->ends_at <= now) over.push_back(id);
  }
  for (const LegId id : over) end_leg(id);
  for (const LegId id : due) {
    const auto at = legs_.find(id);
    if (at != legs_.end()) start(id, *at->second);
  }
}

}  // namespace millrace::mcp
