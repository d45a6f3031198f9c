#include "api/model_reply.hpp"

#include <utility>

#include "api/sse_response.hpp"
#include "model/call/chain.hpp"

namespace millrace::api {
namespace {

// A chat without tools is one turn of the model.
constexpr std::string_view only_step = "step-1";

}  // namespace

ModelReply::ModelReply(const model::DriverServices& services, model::CallOptions call,
                       model::ChatPayload payload, const run::AgentInput& input, bool is_binary,
                       std::shared_ptr<http::ResponseStream> response)
    : model::CallDriver(services),
      response_(std::move(response)),
      is_binary_(is_binary),
      withheld_(input.withheld),
      encoder_(
          {input.thread_id, input.run_id, input.parent_run_id, input.protocol_version, is_binary}),
      sink_(encoder_, model::secrets_of(call)),
      keep_alive_(services.loop, [this] {
        response_->write(ag_ui_keep_alive(is_binary_));
        wait_for_silence();
      }) {
  prepare(std::move(call), std::move(payload), sink_);
}

ModelReply::~ModelReply() = default;

void ModelReply::start() {
  if (!response_->start(200, ag_ui_headers(is_binary_))) return;
  encoder_.start();
  if (withheld_.count > 0) {
    encoder_.on_event(
        {event::Warning{row_of(Errc::invalid_messages).code, run::withheld_sentence(withheld_)}});
  }
  encoder_.on_event({event::StepStart{only_step}});
  const std::weak_ptr<model::CallDriver> weak = weak_from_this();
  response_->on_drain([this, weak] {
    if (const auto self = weak.lock()) resume();
  });
  response_->on_expedite([this, weak] {
    const auto self = weak.lock();
    if (self && !ended_) halt();
  });
  response_->on_close([this, weak] {
    const auto self = weak.lock();
    if (!self || ended_) return;
    ended_ = true;
    keep_alive_.cancel();
    halt();
    self_.reset();
  });
  if (ended_) return;
  self_ = shared_from_this();
  begin();
}

void ModelReply::wait_for_silence() {
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_interval);
}

// Sends what the encoder wrote; a reader that lags behind pauses the provider.
void ModelReply::progressed() {
  if (ended_) return;
  const auto self = shared_from_this();
  if (call().ended()) {
    if (!encoder_.ended()) encoder_.on_event({event::StepEnd{only_step}});
    encoder_.finish();
  }
  if (!encoder_.pending().empty()) {
    // Not kept: a silent run needs no buffer.
    const std::string bytes = encoder_.take();
    wait_for_silence();
    if (!response_->write(bytes)) pause();
  }
  if (call().ended()) finish();
}

void ModelReply::finish() {
  if (std::exchange(ended_, true)) return;
  keep_alive_.cancel();
  response_->end();
  // The caller has a share of its own.
  self_.reset();
}

}  // namespace millrace::api
