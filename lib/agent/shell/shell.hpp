// Reads a shell command line the way a shell would, far enough to say which programs it may run
// and on which files. Nothing is executed and nothing is looked up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::agent {

struct Redirect {
  bool writes = false;
  std::string target;
};

// One simple command: quotes removed, braces expanded, known variables put in, wrappers such as
// sudo, env or xargs taken off.
struct ShellCommand {
  std::vector<std::string> words;  // the program first
  std::vector<Redirect> redirects;
  std::string directory;  // where an earlier cd went, or ""
  std::string input;      // what <<< gives it

  // The program without its folder.
  [[nodiscard]] std::string_view program() const;
  // True when a short option (also in a bundle such as -rf) or a long one is given.
  [[nodiscard]] bool has_option(char letter, std::string_view name) const;
  // Words behind the program that are no options.
  [[nodiscard]] std::vector<std::string_view> operands() const;
};

struct ShellReading {
  std::vector<ShellCommand> commands;
  bool whole = true;  // false when the text is nested too deep or too long to be read to its end
};

// Every simple command that `text` may run: each segment of lists and pipelines, substitutions,
// what is given to `sh -c`, `eval`, `find -exec` or through a pipe to a shell. A substitution whose
// result is known (`$(echo /)`) is its result.
ShellReading read_shell(std::string_view text);

// A path with "//", "." and ".." resolved as text and no slash at its end.
std::string normal_path(std::string_view path);

}  // namespace millrace::agent
