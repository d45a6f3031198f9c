// Child programs that talk over their standard input and output.
//
// Each runs in a process group of its own under a small watcher, a fork of this process that does
// nothing but wait. The watcher holds one end of a pipe; when the other end is closed - by stop(),
// or because this process was killed - it ends the whole group, and on Linux also what has
// left it, so that no descendant outlives its host.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace millrace::os {

class EventLoop;

struct ProcessOptions {
  std::string program;  // a path, or a name that is looked for on the PATH of `environment`
  std::vector<std::string> arguments;
  // The whole environment; nothing is inherited.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  // empty: this process's own
  // Between the polite signal and the one that cannot be ignored.
  std::chrono::milliseconds grace{1000};
  std::size_t stderr_tail_bytes = std::size_t{16} << 10U;
  // Of what waits to be written.
  std::size_t most_unwritten_bytes = std::size_t{64} << 20U;
};

// How a program ended.
struct ProcessExit {
  std::optional<Error> not_started;  // process_start_failed: it never ran
  std::optional<int> code;
  std::optional<int> signal;
  std::string error_text;  // the end of what it wrote to standard error
};

// Calls come on the engine thread: on_output and on_error_text any number of times, on_output_end
// where the output ends while the program may still run, then one on_exit, when the program and all
// its output have ended.
class ProcessHandler {
 public:
  virtual ~ProcessHandler() = default;
  // Lifetime: during the call.
  virtual void on_output(std::string_view bytes) = 0;
  virtual void on_output_end() {}
  // What it writes to standard error.
  virtual void on_error_text(std::string_view bytes) { static_cast<void>(bytes); }
  virtual void on_exit(ProcessExit exit) = 0;
};

// Thread: engine thread.
// Lifetime: destroying it silences the handler and ends the program, without waiting for that.
class Process {
 public:
  // What the system says to running it comes with on_exit.
  // Errors: process_start_failed when the program cannot be found; invalid_option.
  static Result<std::unique_ptr<Process>> start(EventLoop& loop, const ProcessOptions& options,
                                                std::shared_ptr<ProcessHandler> handler);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Never blocks.
  // Errors: event_too_large when the program does not read what it is sent; connection_lost when
  // its standard input is closed.
  Result<void> write(std::string bytes);
  void close_input();
  // Stops reading its output, so that it stops writing.
  void pause();
  void resume();
  // Ends the group: politely, and after the grace period for good. on_exit follows.
  void stop();

  [[nodiscard]] int pid() const;
  // The end of what it wrote to standard error so far.
  [[nodiscard]] std::string error_text() const;

 private:
  struct State;
  explicit Process(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // shared with handlers that wait
};

}  // namespace millrace::os
