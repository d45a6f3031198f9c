// One call of a builtin tool for the host: its outcome comes as the head of a stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/host_task.hpp"
#include "tool/registry.hpp"

namespace millrace::host {

// The tool call that a host requests.
struct ToolTask {
  std::shared_ptr<const tool::Registry> tools;
  std::string name;
  std::string arguments;  // JSON text
};

// The head is {"content", "success", "error"?: {"type", "message"}, and what the tool adds}.
// Thread: engine thread.
class ToolRun final : public HostTask,
                      public tool::ToolHost,
                      public std::enable_shared_from_this<ToolRun> {
 public:
  ToolRun(DrainQueue::StreamId id, HostServices& owner, ToolTask task);

  void start();

  void finished(tool::ToolOutcome outcome) override;
  void progress(std::string_view json) override;

  void read_as(const PipeSpec& spec) override;
  void resume() override {}
  void cancel() override;
  void silence() override;

 private:
  DrainQueue::StreamId id_;
  HostServices& owner_;
  ToolTask task_;
  std::unique_ptr<tool::RunningTool> running_;
  bool is_over_ = false;
};

}  // namespace millrace::host
