// One MCP connection as a client sees it, without any I/O: the handshake of either era, requests
// with their limits, pages and rounds, the server's questions, and what to do with a bad peer.
//
// Messages come in as JSON text and time as an argument; what is to be done goes out through
// SessionHost. Pipes, sockets and HTTP are a link's matter.
// Source: Model Context Protocol 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "tool/mcp/jsonrpc.hpp"
#include "tool/mcp/param_headers.hpp"

namespace millrace::mcp {

using TimePoint = std::chrono::steady_clock::time_point;
using CallId = std::uint64_t;           // the host's number of a call
using ServerRequestId = std::uint64_t;  // our number of a request of the server

// Up to 2025-11-25 a connection begins with a handshake; from 2026-07-28 on each request says who
// asks.
enum class Era : std::uint8_t { handshake, per_request };

inline constexpr std::string_view latest_handshake_version = "2025-11-25";
inline constexpr std::string_view per_request_version = "2026-07-28";

struct SessionOptions {
  std::string client_json = R"({"name":"millrace","version":"0"})";
  std::string capabilities_json = "{}";
  // A version that must be spoken; "": the handshake first, 2026-07-28 where a server refuses it.
  std::string protocol;
  // A request whose answer nobody waits for any more can be closed by itself (HTTP).
  bool closes_requests = false;
  std::chrono::milliseconds open_timeout{60'000};
  std::chrono::milliseconds call_timeout{60'000};
  std::size_t most_pages = 1000;
  std::size_t list_bytes = std::size_t{64} << 20U;
  std::size_t most_server_requests = 64;
  std::size_t most_rounds = 10;
};

// One call of the host.
struct CallSpec {
  std::string method;
  std::string params_json = "{}";
  std::string list_key;  // not "": the pages are joined under this key
  // Between the request and its answer, or its last progress; 0 is none.
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds total{0};  // from start to end; 0 is none
  bool total_rests = false;            // while the host answers what the server asks for the call
  bool wants_progress = false;
};

// A message on its way out, and what a link may have to say about it beside its text.
struct Outgoing {
  MessageKind kind = MessageKind::request;
  RequestId id = 0;  // of a request
  std::string method;
  std::string json;
  Era era = Era::handshake;
  std::string version;  // the protocol's; "" before it is known
  std::string name;     // what a request of 2026-07-28 is about
  std::vector<ParamHeader> headers;
};

struct Outcome {
  std::string result_json;  // when there is no error
  std::optional<Error> error;
  std::string rpc_json;  // the server's error object, when it sent one
};

class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual void send(Outgoing message) = 0;
  // Nobody waits for the answer of this request any more.
  virtual void drop(RequestId id) = 0;
  // Shape: {"protocolVersion", "serverInfo", "capabilities", "instructions"?, "reopened": boolean}.
  virtual void opened(std::string_view info_json) = 0;
  virtual void settled(CallId call, Outcome outcome) = 0;
  virtual void progressed(CallId call, std::string_view params_json) = 0;
  // A request of the server; `call` is the host's call it belongs to, or 0.
  virtual void server_requested(ServerRequestId server_request, CallId call,
                                std::string_view method, std::string_view params_json) = 0;
  // The server does not want the answer any more.
  virtual void withdrawn(ServerRequestId server_request) = 0;
  virtual void notified(std::string_view method, std::string_view params_json) = 0;
  // Why it could not be opened, with what the host knows of that.
  virtual Error explained(Error error) { return error; }
  // The session cannot be used; every call has been settled.
  virtual void failed(Error error) = 0;
  // It could not be opened again; the next call may try once more.
  virtual void reopen_failed(Error error) = 0;
};

// Thread: any, one at a time. No call of the host comes back into the session while it runs.
class Session {
 public:
  Session(SessionOptions options, SessionHost& host);

  // Begins, or begins again on a new connection. Calls made before it is open wait.
  void open(TimePoint now);
  [[nodiscard]] bool is_open() const { return state_ == State::open; }
  // Waits for open(): at the beginning, and after a connection that broke.
  [[nodiscard]] bool needs_connection() const { return state_ == State::idle; }
  [[nodiscard]] bool waits_for(RequestId id) const {
    return id != 0 && (id == opening_ || requests_.contains(id));
  }
  [[nodiscard]] bool has_calls() const { return !calls_.empty(); }

  // `call` is new. Errors come as its outcome: mcp_error, mcp_protocol_error, tool_timeout,
  // cancelled, event_too_large, and those of the link.
  void call(CallId call, CallSpec call_spec, TimePoint now);
  void cancel(CallId call, std::string_view reason);
  void notify(std::string_view method, std::string_view params_json);
  void answer(ServerRequestId server_request, std::string_view result_json, TimePoint now);
  void reject(ServerRequestId server_request, std::int64_t code, std::string_view message,
              TimePoint now);

  // What the link has.
  // `beside` is our request on whose answer's stream it came; 0 where all come on one.
  void received(std::string_view json, TimePoint now, RequestId beside = 0);
  // The request could not be sent, or ended without an answer.
  void request_failed(RequestId id, Error error, TimePoint now);
  // The server does not know the session any more and has not looked at this request: the session
  // is opened again, once for each call, and the request sent again. A second refusal ends the call
  // with the server's words; without a request that waits nothing is opened.
  void session_lost(RequestId id, std::string_view words, TimePoint now);
  // No answer comes to what was sent, but for this request: the others end with mcp_session_lost.
  void answers_lost(RequestId rejected);
  // The connection is gone: every call that was sent ends with this error, waiting ones stay.
  void disconnected(const Error& error);
  // Ends everything with this error.
  void close(const Error& error);
  // Why the session cannot be opened: the server's own refusal, where another way was tried after
  // it, else `why`.
  Error first_failure(Error why);

  // No limit runs while a person authorizes; each begins anew after that.
  void hold(TimePoint now);
  void release(TimePoint now);

  void on_timer(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  // Messages that could not be understood or belonged to nothing.
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }

 private:
  enum class State : std::uint8_t { idle, shaking_hands, discovering, open, closed };

  // A call between its start and its outcome.
  struct Call {
    CallSpec call_spec;
    std::string params_json;  // of the request that runs: with cursor, or answers
    RequestId request = 0;    // 0: waits to be sent, or for answers
    bool waits_for_open = false;
    bool was_resent = false;
    std::optional<TimePoint> deadline;
    std::optional<TimePoint> total_end;
    std::optional<TimePoint> rests_since;  // the total
    // A list.
    std::string items;
    std::string cursor;
    std::size_t pages = 0;
    // Rounds of 2026-07-28.
    std::size_t rounds = 0;
    std::size_t open_answers = 0;
    std::string answers;  // members of inputResponses
    std::string request_state_json;
    std::optional<TimePoint> resend_at;
  };
  using Calls = std::unordered_map<CallId, Call>;
  // The list of the tools that is asked for between a call and its second attempt.
  static constexpr CallId header_list = ~CallId{0};

  // A request of the server that the host has.
  struct ServerRequest {
    std::string id_json;  // the server's id, or the key of an input request
    CallId call = 0;      // not 0: belongs to a round of this call
    CallId beside = 0;    // not 0: came on the stream of this call's answer
    std::string method;
    std::string schema_json;  // of a form
  };

  void begin_handshake(std::string_view version);
  void begin_discovery();
  void on_opening_result(const json::Value& result, TimePoint now);
  void on_opening_error(const json::Value& error);
  void fail_opening(Error why);
  void finish_opening(std::string info_json, TimePoint now);

  void transmit(CallId id, Call& call, TimePoint now);
  [[nodiscard]] std::string framed_params(const Call& call, RequestId request) const;
  [[nodiscard]] std::string envelope() const;
  void arm(CallId id, Call& call, TimePoint now);
  // A question came or went: the limits of the calls that it holds up begin anew.
  static void rest_total(Call& call, bool rests, TimePoint now);
  void rearm_beside(const ServerRequest& server_request, TimePoint now);
  [[nodiscard]] bool waits_for_host(CallId id, const Call& call) const;
  // True when a call that was refused for its headers goes again, once its tool is known anew.
  bool learn_headers(CallId id, std::int64_t refusal, TimePoint now);
  void send_learned(TimePoint now);
  void fail_unlearned(const Outcome& outcome);
  void disarm(CallId id, Call& call);
  void settle(Calls::iterator at, Outcome outcome);
  void settle(CallId id, Error error, std::string rpc_json = {});
  void send_cancelled(RequestId request, std::string_view reason);
  void expire(CallId id, TimePoint now);

  void on_message(const json::Value& value, TimePoint now, RequestId beside);
  void on_request(const Message& message, TimePoint now, RequestId beside);
  void request_host(ServerRequest server_request, std::string_view method,
                    const json::Value& params);
  void on_notification(const Message& message, TimePoint now);
  void on_progress(const json::Value& params, TimePoint now);
  void on_result(const Message& message, TimePoint now);
  void on_error(const Message& message, TimePoint now);
  // True when another page or round follows.
  bool next_page(Calls::iterator at, const json::Value& result, TimePoint now);
  void begin_round(Calls::iterator at, const json::Value& result, TimePoint now);
  void finish_round(CallId id, TimePoint now);
  void answer_round(const ServerRequest& server_request, std::string_view json, TimePoint now);
  void send_text(MessageKind kind, std::string_view method, std::string text);
  void withdraw_server_requests(CallId call);

  SessionOptions options_;
  SessionHost& host_;
  State state_ = State::idle;
  Era era_ = Era::handshake;
  std::string version_;
  bool was_open_ = false;
  bool version_corrected_ = false;
  std::optional<Error> refusal_;  // of the handshake, while discovery is tried in its stead
  RequestId next_request_ = 1;
  RequestId opening_ = 0;    // the request that opens the session
  RequestId opened_by_ = 0;  // the last of these; requests below it belong to an earlier session
  // An answer said that the server does not know the session: the next request opens another.
  bool is_doubtful_ = false;
  std::optional<TimePoint> opening_deadline_;
  std::optional<TimePoint> held_since_;
  Calls calls_;
  std::vector<CallId> waiting_;  // for the session to open, in their order
  std::unordered_map<RequestId, CallId> requests_;
  std::set<std::pair<TimePoint, CallId>> deadlines_;
  std::map<ServerRequestId, ServerRequest> server_requests_;
  ServerRequestId next_server_request_ = 1;
  ToolHeaders tool_headers_;
  std::vector<CallId> unlearned_;  // calls that wait for a new list of the tools
  json::Document document_;
  std::uint64_t ignored_ = 0;
};

}  // namespace millrace::mcp
