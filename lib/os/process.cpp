#include "os/process.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <deque>
#include <span>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/process_launch.hpp"
#include "os/watcher.hpp"

namespace millrace::os {
namespace {

namespace asio = boost::asio;
using Stream = asio::posix::stream_descriptor;

void close(Stream& stream) {
  boost::system::error_code ignored;
  stream.close(ignored);
}

}  // namespace

struct Process::State : std::enable_shared_from_this<Process::State> {
  State(EventLoop& loop, const ProcessOptions& options, std::shared_ptr<ProcessHandler> to)
      : input(loop.context()),
        output(loop.context()),
        errors(loop.context()),
        status(loop.context()),
        handler(std::move(to)),
        program(options.program),
        directory(options.directory),
        stderr_tail_bytes(options.stderr_tail_bytes),
        most_unwritten_bytes(options.most_unwritten_bytes) {}

  ~State() {
    if (watcher_pid > 0) leave_watcher(watcher_pid);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Waits for the pipe and reads it when there is something: a read that the loop has done, and
  // whose handler is still to come, would be lost where the program's end is seen first.
  void read_output() {
    if (is_paused || is_reading || !output.is_open()) return;
    is_reading = true;
    output.async_wait(Stream::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        self->is_reading = false;
                        if (error == asio::error::operation_aborted) return;
                        // It was asked for before the pause.
                        if (self->is_paused) return;
                        if (!self->take_output()) {
                          close(self->output);
                          const auto to = self->handler;
                          if (to && self->watcher_pid > 0) to->on_output_end();
                          return self->finish_when_over();
                        }
                        self->read_output();
                      });
  }

  void read_errors() {
    errors.async_wait(Stream::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (error == asio::error::operation_aborted) return;
                        if (!self->take_errors()) {
                          close(self->errors);
                          return self->finish_when_over();
                        }
                        self->read_errors();
                      });
  }

  // Reads a piece of what a pipe holds, "" where it holds nothing; nothing at its end.
  static std::optional<std::string_view> take(Stream& stream, std::span<char> room) {
    boost::system::error_code error;
    const std::size_t size = stream.read_some(asio::buffer(room.data(), room.size()), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return "";
    if (error) return std::nullopt;
    return std::string_view(room.data(), size);
  }

  // These two give how many bytes there were, and nothing at the end.
  std::optional<std::size_t> take_output() {
    const auto taken = take(output, output_bytes);
    if (!taken) return std::nullopt;
    if (const auto to = handler; to && !taken->empty()) to->on_output(*taken);
    return taken->size();
  }

  std::optional<std::size_t> take_errors() {
    const auto taken = take(errors, error_bytes);
    if (!taken) return std::nullopt;
    keep_errors(*taken);
    if (const auto to = handler; to && !taken->empty()) to->on_error_text(*taken);
    return taken->size();
  }

  void keep_errors(std::string_view text) {
    error_tail.append(text);
    if (error_tail.size() > 2 * stderr_tail_bytes) {
      error_tail.erase(0, error_tail.size() - stderr_tail_bytes);
    }
  }

  void read_status() {
    status.async_read_some(
        asio::buffer(&report, sizeof report),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
          if (error == asio::error::operation_aborted) return;
          if (!error && size == sizeof(WatcherReport)) {
            self->on_report();
            return self->read_status();
          }
          close(self->status);
          self->watcher_ended();
        });
  }

  void on_report() {
    switch (report.kind) {
      case WatcherReport::Kind::started: program_pid = report.value; return;
      case WatcherReport::Kind::failed_directory:
        exit.not_started =
            start_error(program, "its folder '" + directory + "' cannot be opened", report.value);
        return;
      case WatcherReport::Kind::failed_exec:
        exit.not_started = start_error(program, "the system cannot run it", report.value);
        return;
      case WatcherReport::Kind::ended:
        if (WIFEXITED(report.value)) exit.code = WEXITSTATUS(report.value);
        if (WIFSIGNALED(report.value)) exit.signal = WTERMSIG(report.value);
    }
  }

  // Its end of the pipe is closed: it has exited, or is about to.
  void watcher_ended() {
    if (!exit.code && !exit.signal && program_pid > 0) kill(-program_pid, SIGKILL);
    while (waitpid(watcher_pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    watcher_pid = -1;
    reap_left_watchers();
    finish_when_over();
  }

  // What left the group may hold the pipes open for ever; the program itself has ended.
  void finish_when_over() {
    if (watcher_pid > 0) return;
    drain(output, &State::take_output);
    drain(errors, &State::take_errors);
    for (Stream* stream : {&input, &output, &errors}) close(*stream);
    control.reset();
    if (!handler) return;
    exit.error_text = error_text();
    const auto last = std::move(handler);
    handler = nullptr;
    last->on_exit(std::move(exit));
  }

  // Takes what the pipe still holds: the program's last words are among it. What others write to it
  // from now on does not matter any more.
  void drain(Stream& stream, std::optional<std::size_t> (State::*take_piece)()) {
    if (!stream.is_open()) return;
    boost::system::error_code error;
    asio::posix::descriptor_base::bytes_readable held;
    stream.io_control(held, error);
    std::size_t left = held.get();
    while (handler && left > 0) {
      const std::size_t taken = (this->*take_piece)().value_or(0);
      if (taken == 0) return;
      left -= std::min(left, taken);
    }
  }

  // What the pipe takes at once needs no wait of the loop.
  std::size_t write_now(std::string_view bytes) {
    if (!unwritten.empty()) return 0;
    boost::system::error_code error;
    if (!input.non_blocking()) input.non_blocking(true, error);
    const std::size_t size = input.write_some(asio::buffer(bytes), error);
    if (error && error != asio::error::would_block && error != asio::error::try_again) close(input);
    return error ? 0 : size;
  }

  [[nodiscard]] Error input_closed() const {
    return make_error(Errc::connection_lost, "'" + program + "' has closed its standard input.");
  }

  void write_next() {
    if (is_writing || unwritten.empty() || !input.is_open()) return;
    is_writing = true;
    input.async_write_some(
        asio::buffer(unwritten.front().data() + written, unwritten.front().size() - written),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
          self->is_writing = false;
          if (error) {
            if (error != asio::error::operation_aborted) close(self->input);
            return;
          }
          self->written += size;
          self->unwritten_bytes -= size;
          if (self->written == self->unwritten.front().size()) {
            self->unwritten.pop_front();
            self->written = 0;
          }
          if (self->unwritten.empty() && self->close_when_written) close(self->input);
          self->write_next();
        });
  }

  [[nodiscard]] std::string error_text() const {
    const std::size_t size = std::min(error_tail.size(), stderr_tail_bytes);
    return error_tail.substr(error_tail.size() - size);
  }

  Stream input;
  Stream output;
  Stream errors;
  Stream status;
  Descriptor control;
  std::shared_ptr<ProcessHandler> handler;
  std::string program;
  std::string directory;
  std::size_t stderr_tail_bytes;
  std::size_t most_unwritten_bytes;
  pid_t watcher_pid = -1;
  pid_t program_pid = -1;
  ProcessExit exit;
  WatcherReport report;
  std::array<char, std::size_t{64} << 10U> output_bytes{};
  std::array<char, 4096> error_bytes{};
  std::string error_tail;
  std::deque<std::string> unwritten;
  std::size_t written = 0;  // of the first
  std::size_t unwritten_bytes = 0;
  bool is_writing = false;
  bool is_reading = false;
  bool is_paused = false;
  bool close_when_written = false;
};

Result<std::unique_ptr<Process>> Process::start(EventLoop& loop, const ProcessOptions& options,
                                                std::shared_ptr<ProcessHandler> handler) {
  const std::string path = find_program(options);
  if (path.empty()) {
    return start_error(options.program, "it is not on its PATH", 0);
  }
  for (const auto& [name, value] : options.environment) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return make_error(Errc::invalid_option, "The environment variable " + shown_text(name) +
                                                  " of '" + options.program +
                                                  "' has no valid name.");
    }
  }
  reap_left_watchers();
  Ends ends;
  if (!ends.open()) return start_error(options.program, "no pipe can be created", errno);
  const pid_t watcher = launch(options, path, ends);
  if (watcher < 0) return start_error(options.program, "no process can be created", errno);
  ends.status.write.reset();

  auto state = std::make_shared<State>(loop, options, std::move(handler));
  state->watcher_pid = watcher;
  state->control = std::move(ends.control.write);
  boost::system::error_code rejected;
  state->input.assign(ends.input.write.release(), rejected);
  state->output.assign(ends.output.read.release(), rejected);
  state->errors.assign(ends.errors.read.release(), rejected);
  state->status.assign(ends.status.read.release(), rejected);
  for (Stream* stream : {&state->output, &state->errors}) stream->non_blocking(true, rejected);
  state->read_output();
  state->read_errors();
  state->read_status();
  return std::unique_ptr<Process>(new Process(std::move(state)));
}

Process::Process(std::shared_ptr<State> state) : state_(std::move(state)) {}

Process::~Process() {
  state_->handler = nullptr;
  stop();
}

Result<void> Process::write(std::string bytes) {
  if (!state_->input.is_open()) return state_->input_closed();
  if (state_->unwritten_bytes + bytes.size() > state_->most_unwritten_bytes) {
    return make_error(Errc::event_too_large,
                      "'" + state_->program + "' does not read its standard input: " +
                          std::to_string(state_->most_unwritten_bytes) + " bytes are waiting.");
  }
  if (bytes.empty()) return {};
  bytes.erase(0, state_->write_now(bytes));
  if (!state_->input.is_open()) return state_->input_closed();
  if (bytes.empty()) return {};
  state_->unwritten_bytes += bytes.size();
  state_->unwritten.push_back(std::move(bytes));
  state_->write_next();
  return {};
}

void Process::close_input() {
  state_->close_when_written = true;
  if (state_->unwritten.empty()) close(state_->input);
}

void Process::pause() {
  state_->is_paused = true;
}

void Process::resume() {
  state_->is_paused = false;
  state_->read_output();
}

void Process::stop() {
  state_->control.reset();
}

int Process::pid() const {
  return state_->program_pid;
}

std::string Process::error_text() const {
  return state_->error_text();
}

}  // namespace millrace::os
