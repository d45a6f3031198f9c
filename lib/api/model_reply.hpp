// One answer on its way: a provider's stream in, an AG-UI response out.
#pragma once

#include <memory>

#include "encoder/ag_ui.hpp"
#include "http/response_stream.hpp"
#include "model/call/call.hpp"
#include "model/call/call_driver.hpp"
#include "model/call/redacting_sink.hpp"
#include "os/timer.hpp"
#include "run/input.hpp"

namespace millrace::api {

// Answers with RUN_STARTED at once, then asks the model. Back-pressure of the reader pauses the
// provider; a reader that goes away stops the call.
// Thread: engine thread.
class ModelReply final : public model::CallDriver {
 public:
  ModelReply(const model::DriverServices& services, model::CallOptions call,
             model::ChatPayload payload, const run::AgentInput& input, bool is_binary,
             std::shared_ptr<http::ResponseStream> response);
  ~ModelReply() override;

  void start();

 private:
  void progressed() override;
  void finish();
  void wait_for_silence();

  std::shared_ptr<http::ResponseStream> response_;
  bool is_binary_;
  message::Withheld withheld_;
  encoder::AgUiEncoder encoder_;
  model::RedactingSink sink_;
  os::Timer keep_alive_;
  std::shared_ptr<model::CallDriver>
      self_;  // while it runs: between attempts nothing else holds it
  bool ended_ = false;
};

}  // namespace millrace::api
