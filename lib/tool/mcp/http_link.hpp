// MCP messages over HTTP, without any I/O: streamable HTTP, and the older pair of an event stream
// and an address to post to.
//
// Which request to send, what its answer means and when to try again is decided here; the transfers
// are somebody else's. A message that a server may have acted on is never sent a second time.
// Source: Model Context Protocol 2024-11-05 ("HTTP with SSE"), 2025-11-25 and 2026-07-28
// ("Streamable HTTP").
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "framing/sse.hpp"
#include "tool/mcp/session.hpp"

namespace millrace::mcp {

struct HttpField {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string url;
  std::vector<HttpField> headers;
  std::string body;
};

struct HttpLinkOptions {
  std::string url;
  std::vector<HttpField> headers;
  std::vector<HttpField> authorization;  // from the first request on, as authorize() replaces it
  bool legacy = false;                   // the older pair from the start
  bool allows_legacy = true;             // and where a server does not take the first message
  std::size_t message_bytes = std::size_t{16} << 20U;
  int most_attempts = 5;        // to open a stream again without hearing anything
  int most_authorizations = 3;  // of one message
  std::chrono::milliseconds first_wait{1000};
  std::chrono::milliseconds longest_wait{30'000};
};

using ExchangeId = std::uint64_t;  // one transfer

class HttpLinkHost {
 public:
  virtual ~HttpLinkHost() = default;
  virtual void fetch(ExchangeId exchange, HttpRequest http_request) = 0;
  // The transfer is of no use any more; nothing of it is handed over after that.
  virtual void abandon(ExchangeId exchange) = 0;
  // `beside` is the request on whose answer's stream it came; 0 for the server's own.
  virtual void received(std::string_view json, RequestId beside) = 0;
  [[nodiscard]] virtual bool waits_for(RequestId id) const = 0;
  virtual void request_failed(RequestId id, Error error) = 0;
  // The server refused this request because it does not know the session, and said so in `words`.
  virtual void session_lost(RequestId id, std::string_view words) = 0;
  // No answer comes any more to what was sent, except that this request was refused.
  virtual void answers_lost(RequestId rejected) = 0;
  // Messages wait until authorize() or refuse().
  virtual void unauthorized(int status, std::string_view challenge) = 0;
  // The older pair's stream has ended.
  virtual void broken(Error error) = 0;
  // close() is done.
  virtual void closed() = 0;
};

// Thread: any, one at a time. A host may send, drop and open again from within its calls; it starts
// and ends transfers without coming back before fetch and abandon have returned.
class HttpLink {
 public:
  HttpLink(HttpLinkOptions options, HttpLinkHost& host);
  ~HttpLink();
  HttpLink(const HttpLink&) = delete;
  HttpLink& operator=(const HttpLink&) = delete;

  // Begins anew: without session, without streams.
  void reset();
  void send(Outgoing message, TimePoint now);
  // Nobody waits for the answer of this request.
  void drop(RequestId id);
  // Headers for every request from now on; sends what waits for them.
  void authorize(std::vector<HttpField> headers, TimePoint now);
  void reject(const Error& error);
  // Ends the session at the server; closed() follows.
  void close();

  void on_head(ExchangeId exchange, int status, const std::vector<HttpField>& headers,
               TimePoint now);
  void on_data(ExchangeId exchange, std::string_view bytes, TimePoint now);
  void on_done(ExchangeId exchange, std::optional<Error> error, TimePoint now);
  void on_timer(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  [[nodiscard]] const std::string& session_id() const { return session_id_; }

 private:
  enum class Purpose : std::uint8_t { post, listen, resume, terminate };
  enum class Reading : std::uint8_t { nothing, json, events, failure };

  // A transfer, or one that waits to begin.
  struct Exchange;
  using Exchanges = std::map<ExchangeId, std::unique_ptr<Exchange>>;
  class Frames;
  friend class Frames;

  void post(Outgoing message);
  void begin_session();
  void open_gate();
  void end_exchange(ExchangeId id);
  void begin(std::unique_ptr<Exchange> exchange);
  void start(ExchangeId id, Exchange& exchange);
  [[nodiscard]] HttpRequest request_of(const Exchange& exchange) const;
  [[nodiscard]] std::vector<HttpField> headers_of(const Exchange& exchange) const;
  void listen();

  void on_post_head(ExchangeId id, Exchange& exchange, const std::vector<HttpField>& headers);
  void on_stream_head(ExchangeId id, Exchange& exchange, const std::vector<HttpField>& headers);
  bool redirect(ExchangeId id, Exchange& exchange, const std::vector<HttpField>& headers);
  bool hold(ExchangeId id, Exchange& exchange, const std::vector<HttpField>& headers);
  [[nodiscard]] bool may_be_legacy(const Exchange& exchange) const;
  bool fall_back(ExchangeId id, Exchange& exchange);
  void begin_legacy(Outgoing first);
  void on_accepted(const Outgoing& message);
  void on_event(ExchangeId id, const framing::Frame& frame);
  void on_endpoint(std::string_view address);

  void post_done(std::unique_ptr<Exchange> exchange, std::optional<Error> error, TimePoint now);
  void stream_done(std::unique_ptr<Exchange> exchange, std::optional<Error> error, TimePoint now);
  void try_again(std::unique_ptr<Exchange> exchange, std::optional<Error> error, TimePoint now);
  void fail(const Exchange& exchange, Error error);
  void explain(const Exchange& exchange);
  [[nodiscard]] static bool is_lost(const Exchange& exchange, const json::Value& error,
                                    std::string_view words);
  void drop_exchange(ExchangeId id);
  std::unique_ptr<Exchange> take(ExchangeId id);

  HttpLinkOptions options_;
  HttpLinkHost& host_;
  bool is_legacy_ = false;
  std::string post_url_;  // "" while the older pair has not named it
  std::string session_id_;
  std::string version_;
  std::vector<HttpField> authorization_;
  std::uint64_t authorization_number_ = 0;
  Exchanges exchanges_;
  ExchangeId next_exchange_ = 1;
  ExchangeId listener_ = 0;
  std::vector<std::unique_ptr<Exchange>> held_;  // for an authorization
  std::deque<Outgoing> unaddressed_;             // for the older pair's address
  // Requests that wait until the server has a stream to ask questions on, or refuses one.
  std::deque<Outgoing> gated_;
  std::optional<TimePoint> gate_until_;
  TimePoint now_;  // of the last call from outside
  bool is_closing_ = false;
};

}  // namespace millrace::mcp
