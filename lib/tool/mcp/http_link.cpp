// What is sent, and the ends of transfers. Answers' heads are http_link_answers.cpp's.
#include "tool/mcp/http_link.hpp"

#include <algorithm>
#include <cmath>

#include "tool/mcp/http_link_leg.hpp"

namespace millrace::mcp {

using std::chrono::milliseconds;

HttpLink::HttpLink(HttpLinkOptions options, HttpLinkHost& host)
    : options_(std::move(options)), host_(host) {
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
  listener_ = 0;
}

void HttpLink::send(Outgoing message) {
  if (is_closing_) return;
  if (message.method == "initialize") session_id_.clear();
  if (is_legacy_ && post_url_.empty()) {
    unaddressed_.push_back(std::move(message));
    if (listener_ == 0) listen();
    return;
  }
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
  leg.is_running = true;
  leg.status = 0;
  leg.reading = Reading::nothing;
  leg.body.clear();
  framing::FramingLimits limits;
  limits.line_bytes = options_.message_bytes;
  limits.event_bytes = options_.message_bytes;
  leg.framing.emplace(framing::SseDispatch::blank_line, limits);
  leg.used_session = session_id_;
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

void HttpLink::authorize(std::vector<HttpField> headers) {
  authorization_ = std::move(headers);
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
  if (leg->reading == Reading::failure && !error) return explain(*leg);
  const Outgoing& message = leg->message;
  if (message.kind != MessageKind::request) {
    if (!error && leg->status < 300) on_accepted(message);
    return;
  }
  if (leg->reading == Reading::json && !error) host_.received(leg->body);
  // In the older pair the answer comes on the stream.
  if (is_legacy_ && !error) return;
  if (!host_.waits_for(message.id)) return;
  if (leg->reading == Reading::events && message.era == Era::handshake &&
      !leg->last_event_id.empty()) {
    leg->purpose = Purpose::resume;
    leg->url = options_.url;
    return try_again(std::move(leg), std::move(error), now);
  }
  if (leg->status == 0 && error) return fail(*leg, std::move(*error));
  if (error && error->code == Errc::response_too_large) return fail(*leg, std::move(*error));
  fail(*leg, leg->reading == Reading::json
                 ? make_error(Errc::mcp_protocol_error,
                              "The MCP server's answer belongs to no request.", leg->body)
                 : make_error(Errc::mcp_session_lost,
                              "The MCP server's answer ended before it was complete; whether the "
                              "call had an effect is not known.",
                              error ? error->message : std::string()));
}

void HttpLink::stream_done(std::unique_ptr<Leg> leg, std::optional<Error> error, TimePoint now) {
  if (is_legacy_) {
    post_url_.clear();
    std::string message = "The MCP server's event stream ended.";
    if (leg->status != 200 && leg->status != 0) {
      message = "The MCP server answered with status " + std::to_string(leg->status) +
                " where an event stream was expected.";
    }
    return host_.broken(error ? std::move(*error)
                              : make_error(Errc::mcp_session_lost, std::move(message), leg->body));
  }
  if (leg->purpose == Purpose::resume && !host_.waits_for(leg->message.id)) return;
  // 405 says that there is no such stream; anything else may pass.
  if (leg->status == 405 || leg->status == 404 || leg->status == 400) {
    return fail(*leg, make_error(Errc::mcp_session_lost,
                                 "The MCP server cannot go on with the answer; whether the call "
                                 "had an effect is not known."));
  }
  try_again(std::move(leg), std::move(error), now);
}

void HttpLink::try_again(std::unique_ptr<Leg> leg, std::optional<Error> error, TimePoint now) {
  if (leg->attempts >= options_.most_attempts || is_closing_) {
    return fail(*leg, make_error(Errc::mcp_session_lost,
                                 "The MCP server's answer ended and cannot be taken up again; "
                                 "whether the call had an effect is not known.",
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
  std::optional<TimePoint> next;
  for (const auto& [id, leg] : legs_) {
    if (leg->starts_at) next = std::min(next.value_or(*leg->starts_at), *leg->starts_at);
  }
  return next;
}

void HttpLink::on_timer(TimePoint now) {
  std::vector<LegId> due;
  for (const auto& [id, leg] : legs_) {
    if (leg->starts_at && *leg->starts_at <= now) due.push_back(id);
  }
  for (const LegId id : due) {
    const auto at = legs_.find(id);
    if (at != legs_.end()) start(id, *at->second);
  }
}

}  // namespace millrace::mcp
