// One chat of LobeHub's route on its way: a payload in, a chat stream out.
#pragma once

#include <memory>
#include <string>

#include "app/call_driver.hpp"
#include "app/model_output.hpp"
#include "http/response_stream.hpp"
#include "os/timer.hpp"

namespace millrace::app {

// Answers when a provider took the call: with the stream, or with the error and its status. What
// fails later is told in the stream. Back-pressure of the reader pauses the provider; a reader that
// goes away stops the call.
// Thread: engine thread.
class ChatRun final : public CallDriver {
 public:
  ChatRun(const DriverServices& services, model::CallOptions call, model::ChatPayload payload,
          std::shared_ptr<http::ResponseStream> response);
  ~ChatRun() override;

  void start();

 private:
  void progressed() override;
  void taken() override;
  void send_output();
  void finish();
  void leave();
  void wait_for_silence();

  std::shared_ptr<http::ResponseStream> response_;
  std::string provider_;
  ModelOutput output_;
  os::Timer keep_alive_;
  std::shared_ptr<CallDriver> self_;
  bool taken_ = false;
  bool ended_ = false;
};

// The body of an error as LobeHub's clients read it.
// Shape: {"errorType": string, "body": {"error": {"code", "message", "detail"?, "status"?,
// "retryAfterMs"?, "requestId"?}, "provider": string}}
std::string chat_error_json(const Error& error, std::string_view provider);

// Sends it with the status of the error's class.
void send_chat_error(http::ResponseStream& response, const Error& error, std::string_view provider);

}  // namespace millrace::app
