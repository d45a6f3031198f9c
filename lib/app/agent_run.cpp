#include "app/agent_run.hpp"

#include <chrono>
#include <utility>

#include "model/response_error.hpp"

namespace millrace::app {
namespace {

constexpr std::chrono::seconds keep_alive_interval{15};

const http::Headers& stream_headers() {
  static const http::Headers headers{
      {"Content-Type", "text/event-stream"},
      {"Cache-Control", "no-cache, no-transform"},
      {"X-Accel-Buffering", "no"},
  };
  return headers;
}

}  // namespace

AgentRun::AgentRun(const RunServices& services, const adapter::Wire& wire, const AgentInput& input,
                   std::shared_ptr<http::ResponseStream> response)
    : services_(services),
      response_(std::move(response)),
      encoder_({input.thread_id, input.run_id, input.parent_run_id, input.protocol_version}),
      sink_(encoder_, std::string(services.secret)),
      decoder_(wire, {}, services.ids, sink_),
      keep_alive_(services.loop, [this] {
        response_->write(encoder::AgUiEncoder::keep_alive);
        wait_for_silence();
      }) {}

AgentRun::~AgentRun() = default;

void AgentRun::start(net::Request request) {
  if (!response_->start(200, stream_headers())) return;
  encoder_.start();
  transfer_ = services_.client.start(std::move(request), shared_from_this());
  response_->on_drain([run = weak_from_this()] {
    if (const auto self = run.lock()) self->services_.client.resume(self->transfer_);
  });
  response_->on_close([run = weak_from_this()] {
    const auto self = run.lock();
    if (!self || self->ended_) return;
    self->ended_ = true;
    self->keep_alive_.cancel();
    self->services_.client.cancel(self->transfer_);
  });
  flush();
}

void AgentRun::wait_for_silence() {
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_interval);
}

// Sends what the encoder wrote; a reader that lags behind pauses the provider.
void AgentRun::flush() {
  if (ended_ || encoder_.pending().empty()) return;
  encoder_.take_into(buffer_);
  wait_for_silence();
  if (!response_->write(buffer_)) services_.client.pause(transfer_);
}

void AgentRun::finish() {
  if (ended_) return;
  encoder_.finish();
  flush();
  ended_ = true;
  keep_alive_.cancel();
  response_->end();
}

void AgentRun::on_head(net::ResponseHead head) {
  const bool refused = head.status < 200 || head.status > 299;
  if (refused) refusal_ = std::move(head);
}

void AgentRun::on_data(std::string_view decoded) {
  if (ended_) return;
  if (refusal_) {
    refusal_body_.append(decoded.substr(0, model::error_body_limit_bytes - refusal_body_.size()));
    if (refusal_body_.size() < model::error_body_limit_bytes) return;
    decoder_.fail(model::error_from_response(*refusal_, refusal_body_));
  } else if (const auto result = decoder_.feed(decoded); !result) {
    decoder_.fail(result.error());
  }
  flush();
  if (!decoder_.done()) return;
  finish();
  services_.client.cancel(transfer_);
}

void AgentRun::on_done(std::optional<Error> error) {
  if (ended_) return;
  if (refusal_) {
    decoder_.fail(model::error_from_response(*refusal_, refusal_body_));
  } else if (error) {
    decoder_.fail(*error);
  } else if (const auto result = decoder_.finish(); !result) {
    decoder_.fail(result.error());
  }
  finish();
}

}  // namespace millrace::app
