// What code on a command line does (`python -c`, `perl -e`, `awk`), read from its text alone: the
// words it names and a few calls whose meaning is known. It errs towards asking.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/shell/shell.hpp"

namespace millrace::agent {

struct CodeReading {
  std::vector<std::string> texts;      // literals, any of which a shell may be given
  std::vector<ShellCommand> commands;  // what its calls amount to
};
CodeReading read_code(std::string_view code, std::string_view program);

// True for a program that runs code given to it: python3.11, node, perl ...
bool is_interpreter(std::string_view program);

// The code that an interpreter is given by its options.
std::vector<std::string> code_arguments(const ShellCommand& command);

// The text that printf or echo -e makes of \n, \x2f and \057.
std::string unescaped(std::string_view text);

}  // namespace millrace::agent
