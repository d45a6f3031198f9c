// An agent's run as the answer to an HTTP request: an AG-UI response.
#pragma once

#include <memory>
#include <string>

#include "encoder/ag_ui.hpp"
#include "http/response_stream.hpp"
#include "model/call/redacting_sink.hpp"
#include "os/timer.hpp"
#include "run/input.hpp"
#include "run/session.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::api {

// Answers with RUN_STARTED at once. A run that waits for a person is kept. Back-pressure of the
// reader pauses the model; a reader that goes away stops the run.
// Thread: engine thread.
class AgentReply final : public run::AgentOwner, public std::enable_shared_from_this<AgentReply> {
 public:
  // Lifetime: services and kept outlive the reply.
  AgentReply(const model::DriverServices& services, std::shared_ptr<const run::AgentPlan> plan,
             const run::AgentInput& input, bool is_binary, run::SuspendedRuns& suspended,
             std::shared_ptr<http::ResponseStream> response);

  // `request` is what the model is offered with the tools of the input, or null where it has none
  // or no reader has had them yet.
  void start(const run::AgentInput& input,
             std::shared_ptr<const Result<model::ChatPayload>> request);

  void on_event(const event::Event& event) override { sink_.on_event(event); }
  void moved() override;
  // No host: its tools are not among those of a server's plan.
  void request_host(run::HostWork work, std::uint64_t id, std::string json) override;
  void withdraw(std::uint64_t id) override { static_cast<void>(id); }

 private:
  void send();
  void close();
  void leave();
  void wait_for_silence();

  model::DriverServices services_;
  std::shared_ptr<const run::AgentPlan> plan_;
  run::SuspendedRuns& suspended_;
  std::string thread_id_;
  std::string run_id_;
  bool is_binary_;
  std::shared_ptr<http::ResponseStream> response_;
  encoder::AgUiEncoder encoder_;
  model::RedactingSink sink_;
  os::Timer keep_alive_;
  std::string buffer_;
  std::shared_ptr<run::AgentSession> session_;
  std::shared_ptr<AgentReply> self_;  // while it runs
  bool ended_ = false;
};

}  // namespace millrace::api
