// What the words of one command mean by themselves: its program, options and operands; paths as
// text.
#include <string>

#include "agent/shell/shell.hpp"

namespace millrace::agent {

std::string_view ShellCommand::program() const {
  return words.empty()
             ? std::string_view()
             : std::string_view(words.front()).substr(words.front().find_last_of('/') + 1);
}

bool ShellCommand::has_option(char letter, std::string_view name) const {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return false;
    if (word.starts_with("--")) {
      const std::string_view given = word.substr(2, word.find('=') - 2);
      // A long option may be shortened as long as it is clear.
      if (given.size() >= 3 && name.starts_with(given)) return true;
    } else if (word.size() > 1 && word[0] == '-' && word.find(letter) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::vector<std::string_view> ShellCommand::operands() const {
  std::vector<std::string_view> operands;
  bool options = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (options && word == "--") {
      options = false;
    } else if (!options || word.size() < 2 || word[0] != '-') {
      operands.push_back(word);
    }
  }
  return operands;
}

std::string normal_path(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !absolute) {
      parts.push_back(part);
    }
  }
  std::string normal = absolute ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) normal.push_back('/');
    normal.append(parts[i]);
  }
  return normal.empty() ? "." : normal;
}

}  // namespace millrace::agent
