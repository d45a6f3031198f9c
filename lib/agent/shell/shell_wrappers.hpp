// Programs and words of the shell that run the program named behind them: sudo, env, xargs, then.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::agent {

struct Wrapper {
  std::string_view name;
  std::string_view options_with_value;  // letters of short options that take the next word
  int operands;                         // words of its own before the command
};

// The wrapper of this name, or nothing.
const Wrapper* find_wrapper(std::string_view name);

// NAME=value in front of a command.
bool is_assignment(std::string_view word);

// Takes the wrapper, which is the first word, its options and its own operands off a command.
void strip_wrapper(std::vector<std::string>& words, const Wrapper& wrapper);

}  // namespace millrace::agent
