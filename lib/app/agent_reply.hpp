// An agent's run as the answer to an HTTP request: an AG-UI response.
#pragma once

#include <memory>
#include <string>

#include "app/agent_input.hpp"
#include "app/agent_session.hpp"
#include "app/kept_runs.hpp"
#include "app/redacting_sink.hpp"
#include "encoder/ag_ui.hpp"
#include "http/response_stream.hpp"
#include "os/timer.hpp"

namespace millrace::app {

// Answers with RUN_STARTED at once. A run that waits for a person is kept. Back-pressure of the
// reader pauses the model; a reader that goes away stops the run.
// Thread: engine thread.
class AgentReply final : public AgentOwner, public std::enable_shared_from_this<AgentReply> {
 public:
  // Lifetime: services and kept outlive the reply.
  AgentReply(const DriverServices& services, std::shared_ptr<const AgentPlan> plan,
             const AgentInput& input, KeptRuns& kept,
             std::shared_ptr<http::ResponseStream> response);

  // `request` is what the model is offered with the tools of the input, or null where it has none
  // or nobody has read them yet.
  void start(const AgentInput& input, std::shared_ptr<const Result<model::ChatPayload>> request);

  void on_event(const event::Event& event) override { sink_.on_event(event); }
  void moved() override;
  // No host: its tools are not among those of a server's plan.
  void ask(HostWork work, std::uint64_t id, std::string json) override;
  void withdraw(std::uint64_t id) override { static_cast<void>(id); }

 private:
  void send();
  void close();
  void leave();
  void wait_for_silence();

  DriverServices services_;
  std::shared_ptr<const AgentPlan> plan_;
  KeptRuns& kept_;
  std::string thread_id_;
  std::string run_id_;
  std::shared_ptr<http::ResponseStream> response_;
  encoder::AgUiEncoder encoder_;
  RedactingSink sink_;
  os::Timer keep_alive_;
  std::string buffer_;
  std::shared_ptr<AgentSession> session_;
  std::shared_ptr<AgentReply> self_;  // while it runs
  bool ended_ = false;
};

}  // namespace millrace::app
