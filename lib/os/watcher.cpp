#include "os/watcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>

#include "os/watcher_system.hpp"

namespace millrace::os {
namespace {

constexpr int last_standard_fd = 2;

// Closes every descriptor but those of the plan. An inherited one would hold a lock, a socket or
// the end of somebody's pipe for as long as the watcher lives.
void close_others(const WatcherPlan& plan) {
  std::array<int, 5> retained{plan.control, plan.status, plan.input, plan.output, plan.errors};
  std::sort(retained.begin(), retained.end());
  unsigned next = 0;
  for (const int fd : retained) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) close_descriptors(next, number - 1);
    next = number + 1;
  }
  close_descriptors(next, ~0U);
}

void report(int fd, WatcherReport::Kind kind, int value) {
  WatcherReport message;
  message.kind = kind;
  message.value = value;
  // Smaller than PIPE_BUF: it is written whole or not at all.
  static_cast<void>(!::write(fd, &message, sizeof message));
}

// A host may ignore or block what the program counts on.
void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(const WatcherPlan& plan) {
  setpgid(0, 0);
  reset_signals();
  const std::array<int, 3> standard{plan.input, plan.output, plan.errors};
  for (int fd = 0; fd <= last_standard_fd; ++fd) {
    dup2(standard[static_cast<std::size_t>(fd)], fd);
  }
  constexpr int not_run = 127;
  if (plan.directory != nullptr && chdir(plan.directory) != 0) {
    report(plan.status, WatcherReport::Kind::failed_directory, errno);
    _exit(not_run);
  }
  execve(plan.path, plan.arguments, plan.environment);
  report(plan.status, WatcherReport::Kind::failed_exec, errno);
  _exit(not_run);
}

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_child(int) {}

// Waits for a child, the end of the control pipe (when there is one) or the time. Every other
// signal stays blocked: the watcher ends when its work is done.
void wait_a_moment(int control, std::int64_t ms) {
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, SIGCHLD);
  fd_set readable;
  FD_ZERO(&readable);
  if (control >= 0) FD_SET(control, &readable);
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(ms / 1000);
  limit.tv_nsec = static_cast<long>(ms % 1000) * 1'000'000;
  pselect(control + 1, &readable, nullptr, nullptr, ms < 0 ? nullptr : &limit, &others);
}

bool is_at_end(int control) {
  char byte = 0;
  const ssize_t got = ::read(control, &byte, 1);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

// Takes what has ended. False when no child is left.
bool reap(pid_t program, int status_fd, bool& ended) {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == program) {
      ended = true;
      report(status_fd, WatcherReport::Kind::ended, status);
    }
    if (pid == 0 || (pid < 0 && errno == EINTR)) return true;
    if (pid < 0) return false;
  }
}

[[noreturn]] void end_group(pid_t program, int status_fd, bool ended, std::int64_t grace_ms) {
  constexpr std::int64_t step_ms = 20;
  constexpr std::int64_t grace_period_ms = 5000;
  const std::int64_t begin = now_ms();
  kill(-program, SIGTERM);
  for (std::int64_t now = begin; now - begin < grace_ms + grace_period_ms; now = now_ms()) {
    if (!reap(program, status_fd, ended)) _exit(0);
    if (now - begin >= grace_ms) {
      kill(-program, SIGKILL);
      kill_orphans();
    }
    wait_a_moment(-1, step_ms);
  }
  _exit(1);
}

[[noreturn]] void watch(const WatcherPlan& plan) {
  close_others(plan);
  setsid();
  adopt_orphans();
  // The control pipe gets the lowest number, since fd_set is small.
  const int control = fcntl(plan.control, F_DUPFD_CLOEXEC, 0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const pid_t program = fork();
  if (program == 0) become_program(plan);
  if (program < 0) {
    report(plan.status, WatcherReport::Kind::failed_exec, errno);
    _exit(1);
  }
  setpgid(program, program);
  for (const int fd : {plan.control, plan.input, plan.output, plan.errors}) ::close(fd);
  struct sigaction noted {};
  noted.sa_handler = on_child;
  sigaction(SIGCHLD, &noted, nullptr);
  report(plan.status, WatcherReport::Kind::started, program);
  fcntl(control, F_SETFL, O_NONBLOCK);
  bool ended = false;
  while (!ended && !is_at_end(control)) {
    wait_a_moment(control, -1);
    reap(program, plan.status, ended);
  }
  end_group(program, plan.status, ended, plan.grace.count());
}

}  // namespace

pid_t start_watcher(const WatcherPlan& plan) {
  const pid_t pid = fork();
  if (pid == 0) watch(plan);
  return pid;
}

}  // namespace millrace::os
