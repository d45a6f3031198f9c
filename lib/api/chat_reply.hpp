// One chat of LobeHub's route on its way: a payload in, a chat stream or one completion out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/request_body.hpp"
#include "encoder/completion.hpp"
#include "http/response_stream.hpp"
#include "model/call/call_driver.hpp"
#include "model/call/model_output.hpp"
#include "os/timer.hpp"

namespace millrace::api {

// Answers a stream when a provider took the call, a completion at its end, and with the error and
// its status when the call failed before that. What fails later is told in the stream.
// Back-pressure of the reader pauses the provider; a reader that goes away stops the call.
// Thread: engine thread.
class ChatReply final : public model::CallDriver {
 public:
  ChatReply(const model::DriverServices& services, model::CallOptions call, ChatRequest request,
            std::shared_ptr<http::ResponseStream> response);
  ~ChatReply() override;

  void start();

 private:
  void progressed() override;
  void taken() override;
  void send_output();
  void send_completion();
  void finish();
  void leave();
  void wait_for_silence();

  std::shared_ptr<http::ResponseStream> response_;
  std::string provider_;
  std::string id_;
  message::Withheld withheld_;
  bool whole_;  // the answer is one completion
  model::ModelOutput output_;
  encoder::Completion completion_;
  os::Timer keep_alive_;
  std::shared_ptr<model::CallDriver> self_;
  bool taken_ = false;
  bool ended_ = false;
};

// The body of an error as LobeHub's clients read it.
// Shape: {"errorType": string, "body": {"error": {"code", "message", "detail"?, "status"?,
// "retryAfterMs"?, "requestId"?}, "provider": string}}
std::string chat_error_json(const Error& error, std::string_view provider);

// Sends it with the status of the error's class.
void send_chat_error(http::ResponseStream& response, const Error& error, std::string_view provider);

}  // namespace millrace::api
