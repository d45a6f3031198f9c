#include "os/process_launch.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "os/watcher.hpp"

namespace millrace::os {
namespace {

// Above the standard descriptors, which the program gets anew.
bool lift(Descriptor& fd) {
  constexpr int first_free = 3;
  if (fd.get() >= first_free) return true;
  Descriptor lifted(fcntl(fd.get(), F_DUPFD_CLOEXEC, first_free));
  fd = std::move(lifted);
  return fd.get() >= 0;
}

bool open_lifted(Pipe& made) {
  return open_pipe(made) && lift(made.read) && lift(made.write);
}

// Watchers whose engine ended before they did; somebody has to ask for their end.
struct LeftWatchers {
  std::mutex mutex;
  std::vector<pid_t> pids;  // guarded by mutex
};

LeftWatchers& left_watchers() {
  static auto* const instance = new LeftWatchers;
  return *instance;
}

// The texts of an argument list or environment, and their pointers.
struct Texts {
  std::vector<std::string> texts;
  std::vector<char*> pointers;
  char* const* list() {
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers.data();
  }
};

}  // namespace

bool Ends::open() {
  return open_lifted(input) && open_lifted(output) && open_lifted(errors) && open_lifted(status) &&
         open_lifted(control);
}

Error start_error(const std::string& program, std::string_view what, int number) {
  std::string message = "'" + program + "' cannot be started: ";
  message.append(what);
  if (number != 0) message.append(": ").append(std::strerror(number));
  return make_error(Errc::process_start_failed, message + ".");
}

std::string find_program(const ProcessOptions& options) {
  if (options.program.find('/') != std::string::npos) return options.program;
  std::string_view path;
  for (const auto& [name, value] : options.environment) {
    if (name == "PATH") path = value;
  }
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    std::string candidate(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (candidate.empty()) continue;
    candidate.append("/").append(options.program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

// Forks; everything that needs memory is made before.
pid_t launch(const ProcessOptions& options, const std::string& path, const Ends& ends) {
  Texts arguments;
  arguments.texts.push_back(options.program);
  for (const std::string& argument : options.arguments) arguments.texts.push_back(argument);
  Texts environment;
  for (const auto& [name, value] : options.environment) {
    std::string& entry = environment.texts.emplace_back(name);
    entry.append("=").append(value);
  }
  WatcherPlan plan;
  plan.control = ends.control.read.get();
  plan.status = ends.status.write.get();
  plan.input = ends.input.read.get();
  plan.output = ends.output.write.get();
  plan.errors = ends.errors.write.get();
  plan.path = path.c_str();
  plan.arguments = arguments.list();
  plan.environment = environment.list();
  plan.directory = options.directory.empty() ? nullptr : options.directory.c_str();
  plan.grace = options.grace;
  return start_watcher(plan);
}

void reap_left_watchers() {
  const std::lock_guard lock(left_watchers().mutex);
  std::erase_if(left_watchers().pids,
                [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

void leave_watcher(pid_t pid) {
  const std::lock_guard lock(left_watchers().mutex);
  left_watchers().pids.push_back(pid);
}

}  // namespace millrace::os
