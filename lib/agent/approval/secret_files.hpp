// Files that hold secrets, and the commands that show, copy or send them.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "agent/approval/places.hpp"
#include "agent/shell/shell.hpp"

namespace millrace::agent {

using Commands = std::span<const ShellCommand>;

template <class Test>
bool any_command(Commands commands, Test test) {
  return std::any_of(commands.begin(), commands.end(), test);
}

bool is_env_file(std::string_view place);
// A private key, or the folder of the keys.
bool is_ssh_key(std::string_view place);
bool is_aws(std::string_view place);
bool is_docker(std::string_view place);
bool is_kube(std::string_view place);
bool is_git(std::string_view place);
bool is_npmrc(std::string_view place);
bool is_history(std::string_view place);
bool is_gcp(std::string_view place);

// A program that shows, copies or sends a file.
bool is_reader(std::string_view program);

// Reads the stores of a browser.
bool reads_browser(Commands commands, std::string_view text);

template <bool (*is_secret)(std::string_view)>
bool reads(Commands commands, std::string_view) {
  return any_command(commands, [](const ShellCommand& command) {
    for (const Redirect& redirect : command.redirects) {
      if (!redirect.writes && is_secret(place_of(redirect.target, command.directory))) return true;
    }
    if (!is_reader(command.program())) return false;
    return std::any_of(command.words.begin() + 1, command.words.end(), [&](std::string_view word) {
      return is_secret(place_of(path_in(word), command.directory));
    });
  });
}

// Windows paths are written with backslashes.
template <bool (*is_secret)(std::string_view)>
bool is_path_of(std::string_view path) {
  std::string slashes(path);
  std::replace(slashes.begin(), slashes.end(), '\\', '/');
  if (slashes.starts_with("file://")) slashes.erase(0, 7);
  return is_secret(place_of(slashes));
}

}  // namespace millrace::agent
