// The client as its host and its session see it. Programs are client_program.cpp's, HTTP
// client_http.cpp's.
#include "tool/mcp/client.hpp"

#include <algorithm>
#include <utility>

#include "base/secret_filter.hpp"
#include "os/event_loop.hpp"
#include "tool/mcp/client_parts.hpp"

namespace millrace::mcp {

using Clock = std::chrono::steady_clock;

Client::Client(os::EventLoop& loop, net::Client& http, ClientOptions options, ClientHost& host)
    : loop_(loop),
      http_(http),
      options_(std::move(options)),
      host_(&host),
      session_(options_.session, *this),
      timer_(loop, [this] { on_timer(); }) {
  if (options_.process) {
    for (const auto& [name, value] : options_.process->environment) {
      add_carried_secrets(secrets_, name, value);
    }
    return;
  }
  for (const auto* fields : {&options_.http.headers, &options_.http.authorization}) {
    for (const HttpField& field : *fields) add_carried_secrets(secrets_, field.name, field.value);
  }
  std::string_view url = options_.http.url;
  url = url.substr(0, url.find('#'));
  const std::size_t mark = url.find('?');
  if (mark != url.npos) add_query_secrets(secrets_, url.substr(mark + 1));
  link_.emplace(options_.http, static_cast<HttpLinkHost&>(*this));
}

Client::~Client() = default;

void Client::start() {
  connect();
  rearm();
}

void Client::call(CallId call, CallSpec call_spec) {
  session_.call(call, std::move(call_spec), Clock::now());
  if (session_.needs_connection() && session_.has_calls()) connect();
  rearm();
}

void Client::cancel(CallId call, std::string_view reason) {
  session_.cancel(call, reason);
  rearm();
}

void Client::notify(std::string_view method, std::string_view params_json) {
  session_.notify(method, params_json);
}

void Client::answer(ServerRequestId server_request, std::string_view result_json) {
  session_.answer(server_request, result_json, Clock::now());
  rearm();
}

void Client::reject(ServerRequestId server_request, std::int64_t code, std::string_view message) {
  session_.reject(server_request, code, message, Clock::now());
  rearm();
}

void Client::authorize(std::vector<HttpField> headers) {
  for (const HttpField& field : headers) add_carried_secrets(secrets_, field.name, field.value);
  session_.release(Clock::now());
  if (link_) link_->authorize(std::move(headers), Clock::now());
  rearm();
}

void Client::reject_authorization(const Error& error) {
  session_.release(Clock::now());
  if (link_) link_->reject(error);
  rearm();
}

void Client::pause() {
  is_paused_ = true;
  if (process_) process_->pause();
  for (const auto& [id, exchange] : transfers_) http_.pause(exchange->transfer);
}

void Client::resume() {
  is_paused_ = false;
  if (process_) process_->resume();
  for (const auto& [id, exchange] : transfers_) http_.resume(exchange->transfer);
}

void Client::close() {
  if (is_closing_ || is_closed_) return;
  is_closing_ = true;
  restart_at_.reset();
  session_.close(make_error(Errc::cancelled, "The MCP client was closed."));
  close_at_ = Clock::now() + options_.close_time;
  if (link_) {
    link_->close();
  } else if (process_) {
    if (is_paused_) resume();
    process_->close_input();
  } else {
    closed();
  }
  rearm();
}

void Client::end() {
  host_ = nullptr;
  is_closed_ = true;
  timer_.cancel();
  end_program();
  for (const auto& [id, exchange] : transfers_) {
    exchange->detach();
    http_.cancel(exchange->transfer);
  }
  transfers_.clear();
}

void Client::on_timer() {
  const auto self = shared_from_this();
  const TimePoint now = Clock::now();
  if (close_at_ && *close_at_ <= now) {
    close_at_.reset();
    if (!process_) return closed();
    process_->stop();
  }
  if (give_up_at_ && *give_up_at_ <= now) {
    give_up_at_.reset();
    if (process_ && !is_closing_) {
      lost(end_error("The MCP server's program closed its standard output", session_.is_open(),
                     process_->error_text()));
    }
  }
  if (restart_at_ && *restart_at_ <= now) start_program();
  session_.on_timer(now);
  if (link_) link_->on_timer(now);
  rearm();
}

void Client::rearm() {
  if (host_ == nullptr) return;
  std::optional<TimePoint> next = session_.next_deadline();
  const auto consider = [&](const std::optional<TimePoint>& at) {
    if (at) next = std::min(next.value_or(*at), *at);
  };
  consider(restart_at_);
  consider(close_at_);
  consider(give_up_at_);
  if (link_) consider(link_->next_deadline());
  if (!next) return timer_.cancel();
  // A later deadline is found out when the timer fires; moving it costs more.
  if (timer_.is_running() && timer_.fires_at() <= *next) return;
  timer_.start_at(*next);
}

void Client::send(Outgoing message) {
  if (link_) return link_->send(std::move(message), Clock::now());
  if (!process_) return;
  message.json.push_back('\n');
  const RequestId id = message.kind == MessageKind::request ? message.id : 0;
  if (auto written = process_->write(std::move(message.json)); !written && id != 0) {
    // The session is in the middle of something.
    loop_.post([self = shared_from_this(), id, error = std::move(written).error()] {
      self->session_.request_failed(id, error, Clock::now());
    });
  }
}

void Client::drop(RequestId id) {
  if (link_) link_->drop(id);
}

void Client::opened(std::string_view info_json) {
  was_open_ = true;
  if (host_ != nullptr) host_->opened(info_json);
}

void Client::settled(CallId call, Outcome outcome) {
  // A program that answers is started again at once.
  if (!outcome.error) failures_ = 0;
  if (outcome.error && !secrets_.empty()) {
    outcome.error = without_secrets(*std::move(outcome.error), secrets_);
    if (!outcome.rpc_json.empty()) {
      outcome.rpc_json = SecretFilter(secrets_).clean_json(outcome.rpc_json);
    }
  }
  if (host_ != nullptr) host_->settled(call, std::move(outcome));
}

void Client::progressed(CallId call, std::string_view params_json) {
  if (host_ != nullptr) host_->progressed(call, params_json);
}

void Client::server_requested(ServerRequestId server_request, CallId call, std::string_view method,
                              std::string_view params_json) {
  if (host_ != nullptr) host_->server_requested(server_request, call, method, params_json);
}

void Client::withdrawn(ServerRequestId server_request) {
  if (host_ != nullptr) host_->withdrawn(server_request);
}

void Client::notified(std::string_view method, std::string_view params_json) {
  if (host_ != nullptr) host_->notified(method, params_json);
}

void Client::failed(Error error) {
  if (is_closing_) return;
  is_closed_ = true;
  end_program();
  if (host_ != nullptr) host_->failed(without_secrets(std::move(error), secrets_));
}

void Client::closed() {
  if (std::exchange(is_closed_, true)) return;
  timer_.cancel();
  close_at_.reset();
  if (host_ != nullptr) host_->closed();
}

}  // namespace millrace::mcp
