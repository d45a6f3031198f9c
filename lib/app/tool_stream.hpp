// One call of a builtin tool for the host: its outcome comes as the head of a stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/stream.hpp"
#include "tool/registry.hpp"

namespace millrace::app {

// What the host wants to have run.
struct ToolTask {
  std::shared_ptr<const tool::Registry> tools;
  std::string name;
  std::string arguments;  // JSON text
};

// The head is {"content", "success", "error"?: {"type", "message"}, and what the tool adds}.
// Thread: engine thread.
class ToolStream final : public Stream,
                         public tool::ToolHost,
                         public std::enable_shared_from_this<ToolStream> {
 public:
  ToolStream(DrainQueue::StreamId id, StreamServices& owner, ToolTask task);

  void start();

  void finished(tool::ToolOutcome outcome) override;
  void progress(std::string_view json) override;

  void read_as(const PipeSpec& spec) override;
  void resume() override {}
  void cancel() override;
  void silence() override;

 private:
  DrainQueue::StreamId id_;
  StreamServices& owner_;
  ToolTask task_;
  std::unique_ptr<tool::RunningTool> running_;
  bool is_over_ = false;
};

}  // namespace millrace::app
