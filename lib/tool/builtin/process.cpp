// The tool `run_process`: one program with its arguments, no shell, behind approval. Options:
// "programs": [names that may be run] (any), "directory", "environment": {name: text} besides PATH,
// "timeoutMs" (60000), "maxBytes" of its output (64 KiB), at which it is ended, "approval"
// ("required").
#include <algorithm>
#include <optional>
#include <utility>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/process.hpp"
#include "os/protected_files.hpp"
#include "os/timer.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/fetch.hpp"
#include "tool/result_text.hpp"

namespace millrace::tool {
namespace {

using json::Tree;

struct Rules {
  os::EventLoop& loop;
  std::optional<std::vector<std::string>> programs;  // without a list any
  os::ProcessOptions options;
  std::size_t most = 0;
  std::chrono::milliseconds timeout{0};
};

// One program on its way. The process holds it as its handler, and it holds the process until the
// end: finish() parts them.
class Run final : public os::ProcessHandler, public std::enable_shared_from_this<Run> {
 public:
  Run(const Rules& rules, std::shared_ptr<ToolHost> host)
      : rules_(rules), host_(std::move(host)), timer_(rules.loop, [this] { on_timeout(); }) {}

  void start(const os::ProcessOptions& options) {
    auto started = os::Process::start(rules_.loop, options, shared_from_this());
    if (!started) {
      finish(failed(started.error()));
      return;
    }
    process_ = std::move(started).value();
    process_->close_input();
    timer_.start_at(os::Timer::Clock::now() + rules_.timeout);
  }

  void on_output(std::string_view bytes) override {
    const std::size_t room = rules_.most - output_.size();
    output_.append(bytes.substr(0, room));
    if (bytes.size() <= room || std::exchange(is_cut_, true)) return;
    // Nobody reads the rest: the program must not go on for it.
    if (process_) process_->stop();
  }

  void on_exit(os::ProcessExit exit) override {
    if (exit.not_started) {
      finish(failed(*exit.not_started));
      return;
    }
    const std::string how = how_it_ended(exit);
    std::string content = how + "\n" + output_;
    if (is_cut_) content.append("\n[cut here: the output is longer]");
    if (!exit.error_text.empty()) content.append("\n[standard error]\n").append(exit.error_text);
    ToolOutcome outcome{.content = result_text(content, how.size() + 1 + rules_.most * 2)};
    outcome.is_error = is_late_ || exit.signal || exit.code.value_or(0) != 0;
    if (outcome.is_error) outcome.code = is_late_ ? "tool_timeout" : "exit_status";
    finish(std::move(outcome));
  }

  void give_up() {
    host_.reset();
    timer_.cancel();
    process_.reset();
  }

 private:
  [[nodiscard]] std::string how_it_ended(const os::ProcessExit& exit) const {
    if (is_late_) return "The program was ended after its time was up.";
    if (is_cut_ && exit.signal) {
      return "The program was ended before its end: it wrote more than the " +
             std::to_string(rules_.most) + " bytes that are kept of its output.";
    }
    if (exit.signal) return "Ended by signal " + std::to_string(*exit.signal) + ".";
    return "Exit code " + std::to_string(exit.code.value_or(0)) + ".";
  }

  void on_timeout() {
    is_late_ = true;
    if (process_) process_->stop();
  }

  void finish(ToolOutcome outcome) {
    timer_.cancel();
    // Not from inside its own call.
    rules_.loop.post([self = shared_from_this()] { self->process_.reset(); });
    if (const auto host = std::exchange(host_, nullptr)) host->finished(std::move(outcome));
  }

  Rules rules_;
  std::shared_ptr<ToolHost> host_;
  os::Timer timer_;
  std::unique_ptr<os::Process> process_;
  std::string output_;
  bool is_cut_ = false;
  bool is_late_ = false;
};

class RunningProcess final : public RunningTool {
 public:
  explicit RunningProcess(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  ~RunningProcess() override { run_->give_up(); }
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  void cancel() override { run_->give_up(); }

 private:
  std::shared_ptr<Run> run_;
};

Result<Rules> read_rules(const Tree& options, const Surroundings& around) {
  Rules rules{around.loop, {}, {}, 0, {}};
  auto programs = read_names(options, "programs");
  if (!programs) return std::move(programs).error();
  if (options["programs"].is_array()) rules.programs = std::move(programs).value();
  constexpr std::int64_t standard_bytes = 64 << 10;
  constexpr std::int64_t most_bytes = 4 << 20;
  constexpr std::int64_t standard_timeout = 60'000;
  const auto most = read_number(options, "maxBytes", {standard_bytes, most_bytes});
  if (!most) return most.error();
  rules.most = static_cast<std::size_t>(most.value());
  const auto timeout = read_number(options, "timeoutMs", {standard_timeout, longest_time});
  if (!timeout) return timeout.error();
  rules.timeout = std::chrono::milliseconds(timeout.value());
  auto directory = read_text(options, "directory");
  if (!directory) return std::move(directory).error();
  rules.options.directory = std::move(directory).value();
  rules.options.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  const Tree& environment = options["environment"];
  if (!environment.is_null() && !environment.is_object()) {
    return make_error(Errc::invalid_option, "`environment` must be an object of strings, not " +
                                                kind_of(environment) + ".");
  }
  for (const auto& [name, value] : environment.members()) {
    if (!value.is_string() || name.empty() || name.view().find('=') != std::string_view::npos) {
      return make_error(Errc::invalid_option,
                        "The variable " + shown_text(name) +
                            " of `environment` must have a valid name and a string, not " +
                            kind_of(value) + ".");
    }
    auto& list = rules.options.environment;
    std::erase_if(list, [&, wanted = std::string_view(name)](const auto& one) {
      return one.first == wanted;
    });
    list.emplace_back(name, std::string(value.string()));
  }
  return rules;
}

// Whether an argument names a file of a store of runs, alone or behind an equals sign. A program
// that finds such a file by itself runs under the same user, and cannot be kept from it here.
bool names_protected(const os::ProcessOptions& wanted) {
  return std::any_of(wanted.arguments.begin(), wanted.arguments.end(),
                     [&](const std::string& argument) {
                       const std::size_t sign = argument.find('=');
                       return os::is_protected_path(wanted.directory, argument) ||
                              (sign != std::string::npos &&
                               os::is_protected_path(wanted.directory, argument.substr(sign + 1)));
                     });
}

}  // namespace

Result<Tools> make_run_process(const Tree& options, const Surroundings& around) {
  auto rules = read_rules(options, around);
  if (!rules) return std::move(rules).error();
  Spec spec;
  spec.name = "run_process";
  spec.description = "Runs a program with its arguments, without a shell, and gives its output.";
  spec.parameters = R"({"type":"object","properties":{"argv":{"type":"array","minItems":1,)"
                    R"("maxItems":256,"items":{"type":"string","maxLength":32768},)"
                    R"("description":"The program and its arguments."}},"required":["argv"],)"
                    R"("additionalProperties":false})";
  spec.effect = Effect::once;
  spec.approval = R"("required")";
  spec.timeout = rules.value().timeout + std::chrono::seconds(10);
  spec.result_limit = rules.value().most * 3 + 1'000;
  MILLRACE_TRY(read_approval(options, spec));
  const auto start = [rules = std::move(rules).value()](
                         const Tree& arguments,
                         std::shared_ptr<ToolHost> host) -> std::unique_ptr<RunningTool> {
    os::ProcessOptions wanted = rules.options;
    for (const Tree& word : arguments["argv"].items()) {
      if (word.string().find('\0') != std::string_view::npos) {
        host->finished(
            failed(make_error(Errc::invalid_argument, "The argument " + shown_text(word.string()) +
                                                          " must not contain a NUL character.")));
        return nullptr;
      }
      wanted.arguments.emplace_back(word.string());
    }
    wanted.program = wanted.arguments.empty() ? std::string() : wanted.arguments.front();
    if (!wanted.arguments.empty()) wanted.arguments.erase(wanted.arguments.begin());
    const auto& programs = rules.programs;
    const bool is_known = !programs || std::find(programs->begin(), programs->end(),
                                                 wanted.program) != programs->end();
    if (wanted.program.empty() || !is_known) {
      host->finished(failed(make_error(
          Errc::program_not_allowed,
          "The program " + shown_text(wanted.program) + " is not on the allow list of the tool.")));
      return nullptr;
    }
    if (names_protected(wanted)) {
      host->finished(failed(make_error(Errc::not_authorized,
                                       "An argument names a file of a store of runs, which tools "
                                       "must not read or write.")));
      return nullptr;
    }
    auto run = std::make_shared<Run>(rules, std::move(host));
    run->start(wanted);
    return std::make_unique<RunningProcess>(std::move(run));
  };
  return Tools{std::make_shared<FetchingTool>(std::move(spec), start)};
}

}  // namespace millrace::tool
