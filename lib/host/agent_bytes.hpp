// The bytes of an agent's AG-UI response, as a stream of the host of its own.
#pragma once

#include <memory>

#include "encoder/ag_ui.hpp"
#include "host/host_task.hpp"

namespace millrace::host {

class AgentStream;

// Asks for the bytes of a run that has not begun. The reader has RUN_STARTED already.
struct AgentBytesTask {
  DrainQueue::StreamId agent = 0;
  encoder::AgUiOptions run;
};

// Thread: engine thread.
class AgentBytes final : public HostTask {
 public:
  AgentBytes(DrainQueue::StreamId id, HostServices& services, encoder::AgUiOptions run,
             const std::shared_ptr<AgentStream>& agent);

  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override;
  void cancel() override;
  void silence() override { closed_ = true; }

  void on_event(const event::Event& event) { encoder_.on_event(event); }
  [[nodiscard]] bool has_output() const { return !encoder_.pending().empty(); }
  // Hands over what was written; at the end of the run all of it, and the stream ends.
  void deliver(bool ended);
  // The reader lags behind.
  [[nodiscard]] bool is_full() const { return full_ && !closed_; }

 private:
  DrainQueue::StreamId id_;
  HostServices& services_;
  encoder::AgUiEncoder encoder_;
  std::weak_ptr<AgentStream> agent_;
  std::string buffer_;
  bool full_ = false;
  bool closed_ = false;
};

}  // namespace millrace::host
