// One answer on its way: a provider's stream in, an AG-UI response out.
#pragma once

#include <memory>
#include <string>

#include "app/agent_input.hpp"
#include "app/call_driver.hpp"
#include "app/redacting_sink.hpp"
#include "encoder/ag_ui.hpp"
#include "http/response_stream.hpp"
#include "model/call.hpp"
#include "os/timer.hpp"

namespace millrace::app {

// Answers with RUN_STARTED at once, then asks the model. Back-pressure of the reader pauses the
// provider; a reader that goes away stops the call.
// Thread: engine thread.
class AgentRun final : public CallDriver {
 public:
  AgentRun(const DriverServices& services, model::CallOptions call, model::ChatPayload payload,
           const AgentInput& input, std::shared_ptr<http::ResponseStream> response);
  ~AgentRun() override;

  void start();

 private:
  void progressed() override;
  void finish();
  void wait_for_silence();

  std::shared_ptr<http::ResponseStream> response_;
  encoder::AgUiEncoder encoder_;
  RedactingSink sink_;
  os::Timer keep_alive_;
  std::shared_ptr<CallDriver> self_;  // while it runs: between attempts nothing else holds it
  bool ended_ = false;
};

}  // namespace millrace::app
