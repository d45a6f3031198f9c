// An MCP client at work: a session, and the child program or the HTTP transfers that carry it.
//
// A program that ended is started again for the next call, at once the first time and then with
// growing pauses; a call that was on its way is never repeated.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/client.hpp"
#include "os/process.hpp"
#include "os/timer.hpp"
#include "tool/mcp/http_link.hpp"
#include "tool/mcp/session.hpp"

namespace millrace::mcp {

struct ClientOptions {
  SessionOptions session;
  std::optional<os::ProcessOptions> process;  // else HTTP
  bool reports_errors = false;  // the host gets what the program writes to standard error
  HttpLinkOptions http;
  std::chrono::milliseconds connect_timeout{10'000};
  std::shared_ptr<const net::Route> route;
  std::size_t message_bytes = std::size_t{16} << 20U;
  // How long a program may take to end when its input is closed, and a server to end a session.
  std::chrono::milliseconds close_time{2000};
};

// Who uses the client. Calls may come from within the client's own functions.
class ClientHost {
 public:
  virtual ~ClientHost() = default;
  virtual void opened(std::string_view info_json) = 0;
  virtual void settled(CallId call, Outcome outcome) = 0;
  virtual void progressed(CallId call, std::string_view params_json) = 0;
  virtual void server_requested(ServerRequestId server_request, CallId call,
                                std::string_view method, std::string_view params_json) = 0;
  virtual void withdrawn(ServerRequestId server_request) = 0;
  virtual void notified(std::string_view method, std::string_view params_json) = 0;
  // A line of the program's standard error, with `reports_errors`; while the host lags behind they
  // are lost.
  virtual void wrote(std::string_view line) { static_cast<void>(line); }
  // Answered by authorize() or reject_authorization().
  virtual void unauthorized(int status, std::string_view challenge) = 0;
  virtual void failed(Error error) = 0;
  virtual void closed() = 0;
};

// Thread: engine thread.
// Lifetime: a shared object; transfers and the program keep it alive until end().
class Client final : public std::enable_shared_from_this<Client>,
                     private SessionHost,
                     private HttpLinkHost {
 public:
  // Lifetime: everything outlives the client's last call.
  Client(os::EventLoop& loop, net::Client& http, ClientOptions options, ClientHost& host);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();
  void call(CallId call, CallSpec call_spec);
  void cancel(CallId call, std::string_view reason);
  void notify(std::string_view method, std::string_view params_json);
  void answer(ServerRequestId server_request, std::string_view result_json);
  void reject(ServerRequestId server_request, std::int64_t code, std::string_view message);
  void authorize(std::vector<HttpField> headers);
  void reject_authorization(const Error& error);
  [[nodiscard]] bool has_calls() const { return session_.has_calls(); }
  // The host lags behind, or has room again.
  void pause();
  void resume();
  // Ends calls, session and program in good order; closed() follows.
  void close();
  // Milliseconds that a call may be without answer or progress; 0 is no limit.
  [[nodiscard]] std::chrono::milliseconds call_timeout() const {
    return options_.session.call_timeout;
  }
  // Ends everything at once; the host is not called any more.
  void end();

 private:
  class Child;
  class Exchange;
  friend class Child;
  friend class Exchange;

  // SessionHost
  void send(Outgoing message) override;
  void drop(RequestId id) override;
  void opened(std::string_view info_json) override;
  void settled(CallId call, Outcome outcome) override;
  void progressed(CallId call, std::string_view params_json) override;
  void server_requested(ServerRequestId server_request, CallId call, std::string_view method,
                        std::string_view params_json) override;
  void withdrawn(ServerRequestId server_request) override;
  void notified(std::string_view method, std::string_view params_json) override;
  Error explained(Error error) override;
  void failed(Error error) override;
  void reopen_failed(Error error) override;

  // HttpLinkHost
  void fetch(ExchangeId exchange, HttpRequest call_spec) override;
  void abandon(ExchangeId exchange) override;
  void received(std::string_view json, RequestId beside) override;
  [[nodiscard]] bool waits_for(RequestId id) const override;
  void request_failed(RequestId id, Error error) override;
  void session_lost(RequestId id, std::string_view words) override;
  void answers_lost(RequestId rejected) override;
  void unauthorized(int status, std::string_view challenge) override;
  void broken(Error why) override;
  void closed() override;

  void connect();
  void start_program();
  void end_program();
  void on_output_end();
  void on_error_line(std::string_view line);
  void on_exit(os::ProcessExit exit);
  void lost(Error why);
  void on_timer();
  void rearm();

  os::EventLoop& loop_;
  net::Client& http_;
  ClientOptions options_;
  ClientHost* host_;                  // null after end()
  std::vector<std::string> secrets_;  // of headers, query and environment; errors have none of them
  Session session_;
  std::optional<HttpLink> link_;
  os::Timer timer_;

  std::shared_ptr<Child> child_;
  std::unique_ptr<os::Process> process_;
  std::chrono::steady_clock::time_point started_at_;
  int failures_ = 0;  // of the program, one after the other
  std::optional<TimePoint> restart_at_;
  std::optional<TimePoint> close_at_;
  std::optional<TimePoint> give_up_at_;

  std::map<ExchangeId, std::shared_ptr<Exchange>> transfers_;
  bool was_open_ = false;
  bool is_paused_ = false;
  bool is_closing_ = false;
  bool is_closed_ = false;
};

}  // namespace millrace::mcp
