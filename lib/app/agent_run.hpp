// One answer on its way: a provider's stream in, an AG-UI response out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "app/agent_input.hpp"
#include "app/redacting_sink.hpp"
#include "encoder/ag_ui.hpp"
#include "http/response_stream.hpp"
#include "model/request.hpp"
#include "net/client.hpp"
#include "os/timer.hpp"

namespace millrace::app {

// What every run of a server shares.
// Lifetime: outlives the runs.
struct RunServices {
  os::EventLoop& loop;
  net::Client& client;
  IdSource& ids;
  std::string_view secret;  // the key that is sent to the provider
};

// Drives one model call. Back-pressure of the reader pauses the provider; a reader that goes away
// stops the call.
// Thread: engine thread.
// Lifetime: kept alive by the client until the call is done.
class AgentRun final : public net::TransferHandler, public std::enable_shared_from_this<AgentRun> {
 public:
  AgentRun(const RunServices& services, const adapter::Wire& wire, const AgentInput& input,
           std::shared_ptr<http::ResponseStream> response);
  ~AgentRun() override;

  // Answers with RUN_STARTED at once, then asks the model.
  void start(net::Request request);

  void on_head(net::ResponseHead head) override;
  void on_data(std::string_view decoded) override;
  void on_done(std::optional<Error> error) override;

 private:
  void flush();
  void finish();
  void wait_for_silence();

  RunServices services_;
  std::shared_ptr<http::ResponseStream> response_;
  encoder::AgUiEncoder encoder_;
  RedactingSink sink_;
  adapter::Decoder decoder_;
  os::Timer keep_alive_;
  net::TransferId transfer_ = 0;
  std::optional<net::ResponseHead> refusal_;  // the provider answered with an error status
  std::string refusal_body_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace millrace::app
