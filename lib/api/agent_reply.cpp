#include "api/agent_reply.hpp"

#include <utility>

#include "agent/interrupts.hpp"
#include "api/sse_response.hpp"
#include "model/call/chain.hpp"
#include "model/call/clock.hpp"
#include "os/event_loop.hpp"
#include "run/run_end.hpp"

namespace millrace::api {

AgentReply::AgentReply(const model::DriverServices& services,
                       std::shared_ptr<const run::AgentPlan> plan, const run::AgentInput& input,
                       bool is_binary, run::SuspendedRuns& suspended,
                       std::shared_ptr<http::ResponseStream> response)
    : services_(services),
      plan_(std::move(plan)),
      suspended_(suspended),
      thread_id_(input.thread_id),
      run_id_(input.run_id),
      is_binary_(is_binary),
      response_(std::move(response)),
      encoder_(
          {input.thread_id, input.run_id, input.parent_run_id, input.protocol_version, is_binary}),
      sink_(encoder_, model::secrets_of(plan_->chain)),
      keep_alive_(services.loop, [this] {
        response_->write(ag_ui_keep_alive(is_binary_));
        wait_for_silence();
      }) {}

void AgentReply::start(const run::AgentInput& input,
                       std::shared_ptr<const Result<model::ChatPayload>> request) {
  if (!response_->start(200, ag_ui_headers(is_binary_))) return;
  encoder_.start();
  const std::weak_ptr<AgentReply> weak = weak_from_this();
  response_->on_drain([weak] {
    const auto self = weak.lock();
    if (self && self->session_) self->session_->resume();
  });
  response_->on_expedite([weak] {
    const auto self = weak.lock();
    if (self && !self->ended_ && self->session_) self->session_->stop();
  });
  response_->on_close([weak] {
    if (const auto self = weak.lock()) self->leave();
  });
  if (ended_) return;
  self_ = shared_from_this();
  auto task = suspended_.task_for(input, *plan_, model::now_ms(), services_.call.ids);
  if (!task) {
    sink_.on_event({event::Failed{task.error().message, task.error().code_name()}});
    send();
    return close();
  }
  task.value().request = std::move(request);
  session_ = std::make_shared<run::AgentSession>(services_, plan_, std::move(task).value(), *this);
  session_->start();
}

void AgentReply::wait_for_silence() {
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_interval);
}

// Sends what the encoder wrote; a reader that lags behind pauses the model.
void AgentReply::send() {
  if (encoder_.pending().empty()) return;
  encoder_.take_into(buffer_);
  wait_for_silence();
  if (!response_->write(buffer_) && session_) session_->pause();
}

void AgentReply::moved() {
  if (ended_ || !session_) return;
  const auto self = shared_from_this();
  if (session_->ended()) {
    if (agent::must_be_suspended(session_->state())) {
      suspended_.keep(thread_id_, session_->state(), *plan_, model::now_ms());
    }
    run::report_end(*session_, thread_id_, run_id_, sink_);
    encoder_.finish();
  }
  send();
  if (session_->ended()) close();
}

void AgentReply::close() {
  if (std::exchange(ended_, true)) return;
  keep_alive_.cancel();
  response_->end();
  // The caller has a share of its own.
  self_.reset();
}

// The client is gone: nobody is told how the run ends.
void AgentReply::leave() {
  if (std::exchange(ended_, true)) return;
  const auto self = shared_from_this();
  keep_alive_.cancel();
  if (session_) session_->leave();
  self_.reset();
}

void AgentReply::request_host(run::HostWork work, std::uint64_t id, std::string json) {
  static_cast<void>(work);
  static_cast<void>(json);
  const std::weak_ptr<run::AgentSession> weak = session_;
  services_.loop.post([weak, id] {
    if (const auto session = weak.lock()) {
      session->complete(id, R"({"content":"No host runs this tool.","isError":true})");
    }
  });
}

}  // namespace millrace::api
