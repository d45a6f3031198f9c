// One call of a tool in an agent's run: its time limit, the size of its result, and an end that
// comes once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "os/timer.hpp"
#include "tool/tool.hpp"

namespace millrace::run {

// Thread: engine thread.
// Lifetime: shared by the run and by what executes the call.
class ToolJob final : public tool::ToolHost, public std::enable_shared_from_this<ToolJob> {
 public:
  struct Events {
    std::function<void(tool::ToolOutcome)> finished;
    std::function<void(std::string_view json)> progress;
    std::function<void()> cancelled;  // the call was given up; may be empty
  };

  ToolJob(os::EventLoop& loop, const tool::Spec& spec, Events events);

  // Starts the call here; else the code that runs it calls finished().
  void start(tool::Tool& tool, tool::ToolCall call);
  // Gives the call up; no event but `cancelled` follows.
  void cancel();

  void finished(tool::ToolOutcome outcome) override;
  void progress(std::string_view json) override;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void on_timeout();
  std::unique_ptr<tool::RunningTool> close();

  std::string name_;
  std::chrono::milliseconds timeout_;
  std::size_t result_limit_;
  Events events_;
  std::optional<os::Timer> timer_;  // of a tool with a limit
  std::unique_ptr<tool::RunningTool> running_;
  bool over_ = false;
};

}  // namespace millrace::run
