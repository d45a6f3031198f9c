// A recorded run as the answer to an HTTP request: AG-UI events from any record on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "encoder/recorded_ag_ui.hpp"
#include "http/response_stream.hpp"
#include "os/timer.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/run_requests.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::api {

// What a reader wants of a run.
struct RunReading {
  encoder::RecordedOptions records;
  std::uint64_t before = 0;  // the last record that is not read at all
  // Called when the reader goes away before the end.
  std::function<void()> on_leave;
};

// Answers with the events of the run as they are committed. A reader that lags behind is read for
// later, and slows nobody; one that takes nothing for a minute is cut off. A reader that goes away
// leaves the run as it is. A run that is over and has nothing more for the reader is answered with
// 204.
// Thread: engine thread.
class RunReply final : public run::RunReader, public std::enable_shared_from_this<RunReply> {
 public:
  RunReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response, RunReading reading);

  // Errors: cursor_ahead; nothing is sent then.
  Result<void> start(const run::FoundRun& found);

  bool on_record(const journal::Record& record) override;
  void on_end(const Error* error) override;

 private:
  bool begin();
  bool send();
  void close();
  void leave();
  void wait_for_silence();

  std::shared_ptr<http::ResponseStream> response_;
  RunReading reading_;
  encoder::RecordedAgUi encoder_;
  os::Timer keep_alive_;
  os::Timer stalled_;
  std::shared_ptr<run::RunHub> hub_;
  std::string run_id_;
  std::string buffer_;
  bool has_begun_ = false;
  bool ended_ = false;
};

}  // namespace millrace::api
