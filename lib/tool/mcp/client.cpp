#include "tool/mcp/client.hpp"

#include <algorithm>
#include <utility>

#include "framing/ndjson.hpp"
#include "os/event_loop.hpp"

namespace millrace::mcp {
namespace {

using Clock = std::chrono::steady_clock;

// A program that has ended its output ends itself within this time, or is given up.
constexpr std::chrono::milliseconds end_patience{500};

// Why a program opened no connection, and its last words, which mostly say it best.
Error with_words(Error error, const std::string& error_text) {
  const std::string_view words = json::trim(error_text);
  if (words.empty()) return error;
  constexpr std::size_t shown = 2000;
  error.message += " It wrote: ";
  error.message +=
      redacted(words.size() > shown ? words.substr(words.size() - shown) : words, shown);
  if (error.detail.empty()) error.detail = make_error(error.code, {}, error_text).detail;
  return error;
}

// The end of a connection that a program has, or of one that it did not open.
Error end_error(std::string what, bool was_open, std::string_view error_text) {
  what += was_open ? "." : " before it opened the connection.";
  return make_error(was_open ? Errc::mcp_session_lost : Errc::mcp_connection_failed,
                    std::move(what), error_text);
}

Error exit_error(const os::ProcessExit& exit, bool was_open) {
  std::string what = "The MCP server's program ended";
  if (exit.code) what += " with exit code " + std::to_string(*exit.code);
  if (exit.signal) what += " by signal " + std::to_string(*exit.signal);
  Error error = end_error(std::move(what), was_open, exit.error_text);
  return was_open ? error : with_words(std::move(error), exit.error_text);
}

}  // namespace

// A program's output. What comes of one that was given up reaches nobody.
class Client::Child final : public os::ProcessHandler, public framing::FrameSink {
 public:
  Child(std::shared_ptr<Client> client, std::size_t message_bytes)
      : client_(std::move(client)), framing_(limits(message_bytes)) {}

  void detach() { client_.reset(); }
  void on_output(std::string_view bytes) override {
    const auto client = client_;
    if (!client) return;
    const auto fed = framing_.feed(bytes, *this);
    if (!fed && client_) return client->lost(fed.error());
    client->rearm();
  }
  void on_output_end() override {
    if (client_) client_->on_output_end();
  }
  void on_exit(os::ProcessExit exit) override {
    const auto client = std::exchange(client_, nullptr);
    if (client) client->on_exit(std::move(exit));
  }
  void on_frame(const framing::Frame& frame) override {
    if (const auto client = client_) client->session_.received(frame.data, Clock::now());
  }

 private:
  static framing::FramingLimits limits(std::size_t bytes) {
    framing::FramingLimits limits;
    limits.line_bytes = bytes;
    limits.event_bytes = bytes;
    return limits;
  }
  std::shared_ptr<Client> client_;
  framing::NdjsonFraming framing_;
};

// One HTTP transfer.
class Client::Leg final : public net::TransferHandler {
 public:
  Leg(std::shared_ptr<Client> client, LegId id) : client_(std::move(client)), id_(id) {}

  void detach() { client_.reset(); }
  void on_head(net::ResponseHead head) override {
    const auto client = client_;
    if (!client) return;
    std::vector<HttpField> headers;
    for (net::Header& header : head.headers) {
      HttpField& field = headers.emplace_back();
      field.name = std::move(header.name);
      field.value = std::move(header.value);
    }
    client->link_->on_head(id_, head.status, headers, Clock::now());
    client->rearm();
  }
  void on_data(std::string_view decoded) override {
    const auto client = client_;
    if (!client) return;
    client->link_->on_data(id_, decoded, Clock::now());
    client->rearm();
  }
  void on_done(std::optional<Error> error) override {
    const auto client = std::exchange(client_, nullptr);
    if (!client) return;
    client->transfers_.erase(id_);
    client->link_->on_done(id_, std::move(error), Clock::now());
    client->rearm();
  }

  net::TransferId transfer = 0;

 private:
  std::shared_ptr<Client> client_;
  LegId id_;
};

Client::Client(os::EventLoop& loop, net::Client& http, ClientOptions options, ClientHost& host)
    : loop_(loop),
      http_(http),
      options_(std::move(options)),
      host_(&host),
      session_(options_.session, *this),
      timer_(loop, [this] { on_timer(); }) {
  if (!options_.process) link_.emplace(options_.http, static_cast<HttpLinkHost&>(*this));
}

Client::~Client() = default;

void Client::start() {
  connect();
  rearm();
}

// Opens the connection now, or when the program may be started again.
void Client::connect() {
  if (is_closing_ || is_closed_) return;
  if (link_) {
    link_->reset();
    return session_.open(Clock::now());
  }
  if (process_ || restart_at_) return;
  constexpr int most_doublings = 6;
  constexpr std::chrono::seconds longest{60};
  if (failures_ > 1) {
    const std::chrono::seconds pause{1 << std::min(failures_ - 2, most_doublings)};
    restart_at_ = std::max(Clock::now(), started_at_ + std::min(pause, longest));
    return;
  }
  start_program();
}

void Client::start_program() {
  restart_at_.reset();
  started_at_ = Clock::now();
  child_ = std::make_shared<Child>(shared_from_this(), options_.message_bytes);
  auto started = os::Process::start(loop_, *options_.process, child_);
  if (!started) return lost(started.error());
  process_ = std::move(started).value();
  if (is_paused_) process_->pause();
  session_.open(started_at_);
}

void Client::end_program() {
  if (child_) child_->detach();
  child_.reset();
  process_.reset();
  give_up_at_.reset();
}

// The connection cannot be used any more.
void Client::lost(Error why) {
  const Error error = explained(std::move(why));
  end_program();
  ++failures_;
  if (was_open_) {
    session_.disconnected(error);
  } else {
    session_.close(error);
  }
  rearm();
}

// Usually the program's end follows at once, and says more.
void Client::on_output_end() {
  give_up_at_ = Clock::now() + end_patience;
  rearm();
}

void Client::on_exit(os::ProcessExit exit) {
  const bool was_open = session_.is_open();
  end_program();
  if (is_closing_) return closed();
  constexpr std::chrono::seconds long_life{60};
  if (Clock::now() - started_at_ > long_life) failures_ = 0;
  lost(exit.not_started ? *exit.not_started : exit_error(exit, was_open));
}

void Client::call(CallId call, Ask ask) {
  session_.call(call, std::move(ask), Clock::now());
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

void Client::answer(QuestionId question, std::string_view result_json) {
  session_.answer(question, result_json, Clock::now());
  rearm();
}

void Client::refuse(QuestionId question, std::int64_t code, std::string_view message) {
  session_.refuse(question, code, message, Clock::now());
  rearm();
}

void Client::authorize(std::vector<HttpField> headers) {
  session_.release(Clock::now());
  if (link_) link_->authorize(std::move(headers), Clock::now());
  rearm();
}

void Client::refuse_authorization(const Error& error) {
  session_.release(Clock::now());
  if (link_) link_->refuse(error);
  rearm();
}

void Client::pause() {
  is_paused_ = true;
  if (process_) process_->pause();
  for (const auto& [id, leg] : transfers_) http_.pause(leg->transfer);
}

void Client::resume() {
  is_paused_ = false;
  if (process_) process_->resume();
  for (const auto& [id, leg] : transfers_) http_.resume(leg->transfer);
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
  for (const auto& [id, leg] : transfers_) {
    leg->detach();
    http_.cancel(leg->transfer);
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
  if (host_ != nullptr) host_->settled(call, std::move(outcome));
}

void Client::progressed(CallId call, std::string_view params_json) {
  if (host_ != nullptr) host_->progressed(call, params_json);
}

void Client::asked(QuestionId question, CallId call, std::string_view method,
                   std::string_view params_json) {
  if (host_ != nullptr) host_->asked(question, call, method, params_json);
}

void Client::withdrawn(QuestionId question) {
  if (host_ != nullptr) host_->withdrawn(question);
}

void Client::notified(std::string_view method, std::string_view params_json) {
  if (host_ != nullptr) host_->notified(method, params_json);
}

// What the program has written to standard error belongs to a connection that it does not open.
Error Client::explained(Error error) {
  if (!process_ || session_.is_open()) return error;
  return with_words(std::move(error), process_->error_text());
}

void Client::failed(Error error) {
  if (is_closing_) return;
  is_closed_ = true;
  end_program();
  if (host_ != nullptr) host_->failed(std::move(error));
}

void Client::reopen_failed(Error) {
  end_program();
  ++failures_;
}

void Client::fetch(LegId id, HttpAsk ask) {
  net::Request request;
  request.method = std::move(ask.method);
  request.url = std::move(ask.url);
  for (HttpField& field : ask.headers) {
    net::Header& header = request.headers.emplace_back();
    header.name = std::move(field.name);
    header.value = std::move(field.value);
  }
  request.has_body = !ask.body.empty();
  request.body = std::move(ask.body);
  request.timeouts.connect = options_.connect_timeout;
  request.limits.decoded_bytes = 0;
  request.redirects = net::Redirects::report;
  request.route = options_.route;
  auto leg = std::make_shared<Leg>(shared_from_this(), id);
  leg->transfer = http_.start(std::move(request), leg);
  if (is_paused_) http_.pause(leg->transfer);
  transfers_.emplace(id, std::move(leg));
}

void Client::abandon(LegId id) {
  const auto at = transfers_.find(id);
  if (at == transfers_.end()) return;
  const auto leg = std::move(at->second);
  transfers_.erase(at);
  leg->detach();
  http_.cancel(leg->transfer);
}

void Client::received(std::string_view json) {
  session_.received(json, Clock::now());
}

bool Client::waits_for(RequestId id) const {
  return session_.waits_for(id);
}

void Client::request_failed(RequestId id, Error error) {
  session_.request_failed(id, std::move(error), Clock::now());
}

void Client::session_lost(RequestId id, std::string_view words) {
  session_.session_lost(id, words, Clock::now());
}

void Client::answers_lost(RequestId refused) {
  session_.answers_lost(refused);
}

void Client::unauthorized(int status, std::string_view challenge) {
  session_.hold(Clock::now());
  if (host_ != nullptr) host_->unauthorized(status, challenge);
}

void Client::broken(Error error) {
  if (was_open_) {
    session_.disconnected(error);
  } else {
    session_.close(error);
  }
}

void Client::closed() {
  if (std::exchange(is_closed_, true)) return;
  timer_.cancel();
  close_at_.reset();
  if (host_ != nullptr) host_->closed();
}

}  // namespace millrace::mcp
