// What a server's answers mean: heads, events, and bodies that say why not.
#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/shown.hpp"
#include "tool/mcp/http_link.hpp"
#include "tool/mcp/http_link_leg.hpp"

namespace millrace::mcp {
namespace {

constexpr std::size_t failure_bytes = std::size_t{64} << 10U;
constexpr int most_redirects = 5;
constexpr int method_not_allowed = 405;
// The rest of an answer to a message without one, after its head.
constexpr std::chrono::milliseconds acceptance_time{1000};
// What a stream's head may take while requests wait for it.
constexpr std::chrono::milliseconds stream_time{500};

// "https://host:port" of an address, in lower case and without the port that the scheme implies.
std::string origin_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return {};
  std::string origin = lowered(url.substr(0, url.find_first_of("/?#", scheme + 3)));
  const std::string_view port = origin.starts_with("https:") ? ":443" : ":80";
  if (origin.ends_with(port)) origin.resize(origin.size() - port.size());
  return origin;
}

// Where an address leads, or "" when that is another origin.
std::string within_origin(std::string_view base, std::string_view address) {
  const std::string origin = origin_of(base);
  if (address.empty() || address.starts_with("//")) return {};
  if (address.starts_with("/")) return std::string(origin).append(address);
  if (address.find("://") != address.npos) {
    return !origin.empty() && origin_of(address) == origin ? std::string(address) : std::string();
  }
  if (address.starts_with("?")) {
    return std::string(base.substr(0, base.find_first_of("?#"))).append(address);
  }
  const std::string_view path = base.substr(0, base.find_first_of("?#"));
  const std::size_t folder = path.rfind('/');
  if (folder < path.find("://") + 3) return std::string(origin).append("/").append(address);
  return std::string(path.substr(0, folder + 1)).append(address);
}

// The values of a header that may be there several times, as one list.
std::string all_headers(const std::vector<HttpField>& headers, std::string_view name) {
  std::string all;
  for (const HttpField& field : headers) {
    if (!same_name(field.name, name)) continue;
    all.append(all.empty() ? "" : ", ").append(field.value);
  }
  return all;
}

bool is_media_type(std::string_view header, std::string_view type) {
  const std::size_t end = header.find(';');
  return same_name(json::trim(header.substr(0, end)), type);
}

std::string status_words(int status) {
  return "HTTP status " + std::to_string(status);
}

// What the body of a refusal says, in the words of JSON-RPC or of a web framework.
std::string message_in(const json::Value& body, std::string_view text) {
  const json::Value error = body["error"];
  for (const json::Value& received : {error["message"], error, body["message"], body["detail"]}) {
    if (const auto words = received.filled_string()) return std::string(*words);
  }
  return std::string(json::trim(text));
}

Error status_error(int status, std::string_view body) {
  const std::string text = "The MCP server answered with " + status_words(status) + ".";
  constexpr int unauthorized = 401;
  constexpr int forbidden = 403;
  const bool is_denied = status == unauthorized || status == forbidden;
  Error error =
      make_error(is_denied ? Errc::mcp_unauthorized : Errc::mcp_connection_failed, text, body);
  error.upstream_status = status;
  return error;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return equal_ignoring_case(a, b);
}

std::string_view find_header(const std::vector<HttpField>& headers, std::string_view name) {
  const auto at = std::find_if(headers.begin(), headers.end(),
                               [&](const HttpField& field) { return same_name(field.name, name); });
  return at == headers.end() ? std::string_view() : std::string_view(at->value);
}

bool is_own_header(std::string_view name) {
  constexpr std::array<std::string_view, 7> own{
      "accept",     "content-type", "last-event-id",       "mcp-session-id",
      "mcp-method", "mcp-name",     "mcp-protocol-version"};
  return std::any_of(own.begin(), own.end(), [&](auto other) { return same_name(other, name); });
}

// Hands the frames of one leg on.
class HttpLink::Frames final : public framing::FrameSink {
 public:
  Frames(HttpLink& link, ExchangeId exchange) : link_(link), exchange_(exchange) {}
  void on_frame(const framing::Frame& frame) override { link_.on_event(exchange_, frame); }

 private:
  HttpLink& link_;
  ExchangeId exchange_;
};

void HttpLink::on_head(ExchangeId id, int status, const std::vector<HttpField>& headers,
                       TimePoint now) {
  now_ = now;
  const auto at = exchanges_.find(id);
  if (at == exchanges_.end()) return;
  Exchange& exchange = *at->second;
  exchange.status = status;
  if (redirect(id, exchange, headers) || exchange.purpose == Purpose::terminate) return;
  if (hold(id, exchange, headers)) return;
  if (exchange.purpose == Purpose::post) {
    on_post_head(id, exchange, headers);
  } else {
    on_stream_head(id, exchange, headers);
  }
}

// What is sent goes to the new address only unchanged, and within the origin: 307 and 308 keep the
// method, and a GET is one under each status.
bool HttpLink::redirect(ExchangeId id, Exchange& exchange, const std::vector<HttpField>& headers) {
  constexpr std::array<int, 5> statuses{301, 302, 303, 307, 308};
  if (exchange.status < 300 || exchange.status >= 400) return false;
  const std::string target = within_origin(exchange.url, find_header(headers, "location"));
  const bool is_get = exchange.purpose == Purpose::listen || exchange.purpose == Purpose::resume;
  const auto* first = statuses.begin() + (is_get ? 0 : 3);
  const bool keeps_method = std::find(first, statuses.end(), exchange.status) != statuses.end();
  const bool is_followed =
      keeps_method && !target.empty() && ++exchange.redirects <= most_redirects;
  // Its end is that of the session, wherever it leads.
  if (!is_followed && exchange.purpose == Purpose::terminate) return false;
  const bool is_listener = exchange.purpose == Purpose::listen;
  auto moved = take(id);
  host_.abandon(id);
  if (is_followed) {
    moved->url = target;
    if (is_listener) listener_ = next_exchange_;
    begin(std::move(moved));
    return true;
  }
  Error error =
      make_error(Errc::mcp_connection_failed,
                 "The MCP server redirects to " + shown_address(find_header(headers, "location")) +
                     ", which is not followed; use that address if you trust it.",
                 find_header(headers, "location"));
  error.upstream_status = moved->status;
  if (is_listener && is_legacy_) {
    host_.broken(std::move(error));
  } else if (is_listener) {
    open_gate();
  } else {
    fail(*moved, std::move(error));
  }
  return true;
}

// 401, and 403 for more rights, wait for an authorization. One that came while the request was on
// its way is tried first; more rights are asked for once in the same words.
bool HttpLink::hold(ExchangeId id, Exchange& exchange, const std::vector<HttpField>& headers) {
  const std::string challenge = all_headers(headers, "www-authenticate");
  const bool wants_more =
      exchange.status == 403 && challenge.find("insufficient_scope") != std::string::npos;
  if (exchange.status != 401 && !wants_more) return false;
  if (++exchange.authorizations > options_.most_authorizations ||
      exchange.purpose != Purpose::post) {
    return false;
  }
  if (wants_more && exchange.step_up == challenge) return false;
  const int status = exchange.status;
  auto held = take(id);
  host_.abandon(id);
  if (held->sent_as != authorization_number_) {
    begin(std::move(held));
    return true;
  }
  if (wants_more) held->step_up = challenge;
  held_.push_back(std::move(held));
  host_.unauthorized(status, challenge);
  return true;
}

// Servers of 2024-11-05 do not take posts at the address of their stream.
bool HttpLink::fall_back(ExchangeId id, Exchange& exchange) {
  // A refusal of 400 or 404 may be an answer in JSON-RPC; its body tells.
  if (exchange.status != method_not_allowed || !may_be_legacy(exchange)) return false;
  auto dropped = take(id);
  host_.abandon(id);
  begin_legacy(std::move(dropped->message));
  return true;
}

void HttpLink::begin_legacy(Outgoing first) {
  is_legacy_ = true;
  post_url_.clear();
  unaddressed_.push_back(std::move(first));
  listen();
}

void HttpLink::on_post_head(ExchangeId id, Exchange& exchange,
                            const std::vector<HttpField>& headers) {
  const Outgoing& message = exchange.message;
  const RequestId request = message.kind == MessageKind::request ? message.id : 0;
  constexpr int gone = 410;
  // The older pair's sessions are in the address of their posts, and all answers come on the
  // stream that goes with it.
  if (is_legacy_ && (exchange.status == 404 || exchange.status == gone) && request != 0 &&
      message.method != "initialize") {
    const bool is_current = exchange.url == post_url_;
    const std::string words = status_words(exchange.status);
    drop_exchange(id);
    if (is_current) host_.answers_lost(request);
    return host_.session_lost(request, words);
  }
  if (exchange.status < 200 || exchange.status >= 300) {
    if (fall_back(id, exchange)) return;
    exchange.reading = Reading::failure;
    return;
  }
  // The body of such an answer is empty, or no matter.
  if (exchange.ends_at) exchange.ends_at = std::min(*exchange.ends_at, now_ + acceptance_time);
  if (message.method == "initialize") {
    session_id_ = find_header(headers, "mcp-session-id");
  }
  const std::string_view type = find_header(headers, "content-type");
  if (is_media_type(type, "text/event-stream")) {
    exchange.reading = Reading::events;
  } else if (is_media_type(type, "application/json") && !is_legacy_) {
    exchange.reading = Reading::json;
  } else if (message.kind == MessageKind::request && !is_legacy_) {
    const auto dropped = take(id);
    host_.abandon(id);
    fail(*dropped, make_error(Errc::mcp_protocol_error,
                              "The MCP server's answer has the type " + shown_text(type) +
                                  "; it must be JSON or an event stream.",
                              type));
  }
}

void HttpLink::on_stream_head(ExchangeId id, Exchange& exchange,
                              const std::vector<HttpField>& headers) {
  const bool is_stream = exchange.status == 200 &&
                         is_media_type(find_header(headers, "content-type"), "text/event-stream");
  if (exchange.purpose == Purpose::listen) open_gate();
  if (is_stream) {
    exchange.reading = Reading::events;
    exchange.attempts = 0;
    return;
  }
  if (exchange.purpose == Purpose::resume && exchange.status == 404 &&
      !exchange.used_session.empty() && exchange.used_session == session_id_) {
    // The answer that was to be taken up again is lost with the session; the next request's refusal
    // opens another.
    const RequestId request = exchange.message.id;
    drop_exchange(id);
    return host_.request_failed(request, make_error(Errc::mcp_session_lost));
  }
  exchange.reading = Reading::failure;
  if (exchange.status == 200) exchange.status = 405;
}

void HttpLink::on_data(ExchangeId id, std::string_view bytes, TimePoint now) {
  now_ = now;
  const auto at = exchanges_.find(id);
  if (at == exchanges_.end()) return;
  Exchange& exchange = *at->second;
  switch (exchange.reading) {
    case Reading::nothing: return;
    case Reading::failure:
      if (exchange.body.size() < failure_bytes)
        exchange.body.append(bytes.substr(0, failure_bytes));
      return;
    case Reading::json:
      exchange.body.append(bytes);
      if (exchange.body.size() > options_.message_bytes) {
        host_.abandon(id);
        on_done(id,
                make_error(Errc::response_too_large, "A message of the MCP server is larger than " +
                                                         std::to_string(options_.message_bytes) +
                                                         " bytes."),
                now);
      }
      return;
    case Reading::events: {
      Frames frames(*this, id);
      // An event may lead to the leg's end.
      auto framing = std::move(exchange.framing);
      exchange.framing.reset();
      const auto fed = framing->feed(bytes, frames);
      const auto still = exchanges_.find(id);
      if (still == exchanges_.end()) return;
      still->second->framing = std::move(framing);
      const std::string_view last_id = still->second->framing->last_id();
      if (!last_id.empty()) still->second->last_event_id = last_id;
      if (fed) return;
      const auto dropped = take(id);
      host_.abandon(id);
      fail(*dropped, fed.error());
    }
  }
}

void HttpLink::on_event(ExchangeId id, const framing::Frame& frame) {
  const auto at = exchanges_.find(id);
  if (at == exchanges_.end()) return;
  if (frame.event == "endpoint" && is_legacy_) return on_endpoint(frame.data);
  if (frame.data.empty()) return;
  const Outgoing& answered = at->second->message;
  const RequestId beside = answered.kind == MessageKind::request ? answered.id : 0;
  if (frame.event.empty() || frame.event == "message") host_.received(frame.data, beside);
}

void HttpLink::on_endpoint(std::string_view address) {
  post_url_ = within_origin(options_.url, address);
  if (post_url_.empty()) {
    return host_.broken(make_error(
        Errc::mcp_protocol_error,
        "The MCP server gives an endpoint of another origin, " + shown_address(address) + "."));
  }
  std::deque<Outgoing> waiting;
  waiting.swap(unaddressed_);
  for (Outgoing& message : waiting) post(std::move(message));
}

// A message without answer was taken.
void HttpLink::on_accepted(const Outgoing& message) {
  if (message.method != "notifications/initialized") return;
  version_ = message.version;
  if (is_legacy_ || message.era != Era::handshake || listener_ != 0) return open_gate();
  if (gate_until_) gate_until_ = now_ + stream_time;
  listen();
}

// A refused request has not run. 404 says by itself that the session is not known; 400 says so in
// words, and is about the arguments where its code says that.
bool HttpLink::is_lost(const Exchange& exchange, const json::Value& error, std::string_view words) {
  if (exchange.used_session.empty()) return false;
  if (exchange.status == 404) return true;
  return exchange.status == 400 && error["code"].integer() != rpc_code::invalid_params &&
         names_lost_session(words);
}

// The first message of a server that has the older pair only is rejected in this way.
bool HttpLink::may_be_legacy(const Exchange& exchange) const {
  const bool is_rejected =
      exchange.status == 400 || exchange.status == 404 || exchange.status == method_not_allowed;
  return is_rejected && options_.allows_legacy && !is_legacy_ &&
         exchange.message.method == "initialize";
}

// The body of a refusal may hold the error of JSON-RPC.
void HttpLink::explain(const Exchange& exchange) {
  json::Document document;
  const auto parsed = document.parse(exchange.body);
  const json::Value body = parsed ? parsed.value() : json::Value();
  const json::Value error = body["error"];
  const RequestId id = exchange.message.kind == MessageKind::request ? exchange.message.id : 0;
  // Nobody waits for an answer to it, and the next request is refused in the same way.
  if (id == 0) return;
  const std::string words = message_in(body, exchange.body);
  if (is_lost(exchange, error, words)) {
    return host_.session_lost(id, words.empty() ? status_words(exchange.status) : words);
  }
  // Pages that are not there have bodies with an `error` as well.
  const bool is_answer =
      error.is_object() && (exchange.status != 404 || body["jsonrpc"].is_string());
  if (!is_answer) {
    if (may_be_legacy(exchange)) return begin_legacy(exchange.message);
    return fail(exchange, status_error(exchange.status, exchange.body));
  }
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id);
  json::append_raw_member(text, "error", error.to_json());
  text.push_back('}');
  host_.received(text, id);
}

}  // namespace millrace::mcp
