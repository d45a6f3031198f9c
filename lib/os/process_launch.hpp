// Bringing a child program to life: its pipes, its path and the fork of its watcher.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "os/descriptors.hpp"
#include "os/process.hpp"

namespace millrace::os {

// The parent's ends of a program's pipes.
struct Ends {
  Pipe input;
  Pipe output;
  Pipe errors;
  Pipe status;
  Pipe control;
  // False when the system has none; errno says why.
  bool open();
};

// Errors: process_start_failed, saying what failed and the system's word for `number` where it is
// not 0.
Error start_error(const std::string& program, std::string_view what, int number);

// The path of the program; "" when there is none that can be run.
std::string find_program(const ProcessOptions& options);

// Forks the watcher of a program; -1 when the system refuses.
pid_t launch(const ProcessOptions& options, const std::string& path, const Ends& ends);

// A watcher whose engine ends before it does; reap_left_watchers asks for the end of those that
// have ended meanwhile.
// Thread: any.
void leave_watcher(pid_t pid);
void reap_left_watchers();

}  // namespace millrace::os
