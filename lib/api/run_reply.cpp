#include "api/run_reply.hpp"

#include <chrono>
#include <utility>

#include "api/sse_response.hpp"

namespace millrace::api {
namespace {

constexpr std::chrono::seconds stall_limit{60};

// A page of another origin reads only the headers that are listed.
void add_run_id(http::Headers& headers, const std::string& run_id) {
  headers.add("Millrace-Run-Id", run_id);
  headers.add("Access-Control-Expose-Headers", "Millrace-Run-Id");
}

}  // namespace

RunReply::RunReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response,
                   RunReading reading)
    : response_(std::move(response)),
      reading_(std::move(reading)),
      encoder_(reading_.records),
      keep_alive_(loop,
                  [this] {
                    response_->write(encoder::AgUiEncoder::keep_alive);
                    wait_for_silence();
                  }),
      stalled_(loop, [this] {
        // The run goes on without it.
        const auto self = shared_from_this();
        leave();
        response_->end();
      }) {}

Result<void> RunReply::start(const run::FoundRun& found) {
  hub_ = found.hub;
  run_id_ = found.run.text();
  MILLRACE_TRY(hub_->check_cursor(reading_.records.after));
  const std::weak_ptr<RunReply> weak = weak_from_this();
  response_->on_drain([weak] {
    const auto self = weak.lock();
    if (!self || self->ended_) return;
    self->stalled_.cancel();
    self->hub_->resume(*self);
  });
  response_->on_close([weak] {
    if (const auto self = weak.lock()) self->leave();
  });
  // Without a first record nothing says yet whether there is anything to answer.
  if (!hub_->is_over() && !begin()) return {};
  return hub_->attach(shared_from_this(), reading_.before);
}

bool RunReply::begin() {
  if (std::exchange(has_begun_, true)) return true;
  http::Headers headers = stream_headers();
  add_run_id(headers, run_id_);
  if (!response_->start(200, headers)) return false;
  wait_for_silence();
  return true;
}

void RunReply::wait_for_silence() {
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_interval);
}

bool RunReply::on_record(const journal::Record& record) {
  if (ended_) return false;
  encoder_.on_record(record);
  const bool has_room = send();
  if (encoder_.ended()) {
    hub_->detach(*this);
    close();
    return false;
  }
  if (!has_room) stalled_.start_at(os::Timer::Clock::now() + stall_limit);
  return has_room;
}

bool RunReply::send() {
  if (encoder_.pending().empty()) return true;
  if (!begin()) return false;
  encoder_.take_into(buffer_);
  wait_for_silence();
  return response_->write(buffer_);
}

void RunReply::on_end(const Error* error) {
  if (ended_) return;
  if (error != nullptr && !has_begun_) {
    ended_ = true;
    (void)response_->send_error(*error);
    return;
  }
  if (error != nullptr) {
    encoder_.fail(error->code_name(), error->message);
    send();
  }
  close();
}

void RunReply::close() {
  if (std::exchange(ended_, true)) return;
  keep_alive_.cancel();
  stalled_.cancel();
  if (has_begun_) {
    response_->end();
  } else {
    http::Headers headers;
    add_run_id(headers, run_id_);
    (void)response_->send(204, headers, {});
  }
}

void RunReply::leave() {
  if (std::exchange(ended_, true)) return;
  const auto self = shared_from_this();
  keep_alive_.cancel();
  stalled_.cancel();
  if (hub_) hub_->detach(*this);
  if (reading_.on_leave) reading_.on_leave();
}

}  // namespace millrace::api
