#include "api/record_reply.hpp"

#include <utility>

#include "api/sse_response.hpp"
#include "http/request_observer.hpp"

namespace millrace::api {
namespace {

// What records that come together give is sent in such pieces.
constexpr std::size_t piece_bytes = std::size_t{16} << 10U;

// A page of another origin reads only the headers that are listed: this list takes the place of the
// zone's.
void add_run_id(http::Headers& headers, const std::string& run_id) {
  headers.add("Millrace-Run-Id", run_id);
  headers.add("Access-Control-Expose-Headers",
              "Millrace-Run-Id, " + std::string(http::request_id_field));
}

}  // namespace

RecordReply::RecordReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response)
    : response_(std::move(response)), silence_(loop, [this] {
        if (const std::string sign = keep_alive(); !sign.empty()) response_->write(sign);
        wait_for_silence();
      }) {}

Result<void> RecordReply::start(const run::FoundRun& found) {
  hub_ = found.hub;
  run_id_ = found.run.text();
  const Place place = this->place();
  MILLRACE_TRY(hub_->check_cursor(place.after));
  const std::weak_ptr<RecordReply> weak = weak_from_this();
  response_->on_drain([weak] {
    const auto self = weak.lock();
    if (!self || self->ended_) return;
    self->hub_->resume(*self);
  });
  response_->on_close([weak] {
    if (const auto self = weak.lock()) self->leave();
  });
  // The client went away while the run was looked for.
  if (ended_) return {};
  // Without a first event nothing says yet whether there is anything to answer.
  if (!hub_->is_over() && !begin()) return {};
  return hub_->attach(shared_from_this(), place.before);
}

http::Headers RecordReply::headers() const {
  return stream_headers();
}

bool RecordReply::begin() {
  if (std::exchange(has_begun_, true)) return true;
  http::Headers headers = this->headers();
  add_run_id(headers, run_id_);
  if (!response_->start(200, headers)) return false;
  if (const std::string first = opening(); !first.empty()) response_->write(first);
  wait_for_silence();
  return true;
}

void RecordReply::wait_for_silence() {
  silence_.start_at(os::Timer::Clock::now() + keep_alive_interval);
}

bool RecordReply::on_record(const journal::Record& record) {
  if (ended_) return false;
  encode(record);
  if (!has_ended()) return output_bytes() < piece_bytes || send();
  send();
  hub_->detach(*this);
  close();
  return false;
}

bool RecordReply::on_pause() {
  return send();
}

bool RecordReply::send() {
  if (output_bytes() == 0) return true;
  if (!begin()) return false;
  // Leaves no room behind: many wait here for long.
  std::string piece;
  take_into(piece);
  wait_for_silence();
  return response_->write(piece);
}

void RecordReply::on_end(const Error* error) {
  if (ended_) return;
  send();
  if (error != nullptr && !has_begun_) {
    ended_ = true;
    (void)response_->send_error(*error);
    return;
  }
  encode_end(error);
  send();
  close();
}

void RecordReply::close() {
  if (std::exchange(ended_, true)) return;
  silence_.cancel();
  if (has_begun_) {
    response_->end();
  } else {
    http::Headers headers;
    add_run_id(headers, run_id_);
    (void)response_->send(204, headers, {});
  }
}

void RecordReply::leave() {
  if (std::exchange(ended_, true)) return;
  const auto self = shared_from_this();
  silence_.cancel();
  if (hub_) hub_->detach(*this);
  left();
}

}  // namespace millrace::api
