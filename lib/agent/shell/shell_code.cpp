#include "agent/shell/shell_code.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.hpp"

namespace millrace::agent {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 15> interpreters{
    "python", "pypy", "perl",   "ruby", "node", "nodejs", "deno",     "bun",
    "php",    "lua",  "luajit", "awk",  "gawk", "mawk",   "osascript"};

// "python" of "python3.11".
std::string_view unversioned(std::string_view program) {
  while (!program.empty() && (is_ascii_digit(program.back()) || program.back() == '.')) {
    program.remove_suffix(1);
  }
  return program;
}

bool is_awk(std::string_view program) {
  return program.ends_with("awk");
}

bool mentions(std::string_view code, Names names) {
  return std::any_of(names.begin(), names.end(), [code](std::string_view name) {
    return code.find(name) != std::string_view::npos;
  });
}

bool is_word(char c) {
  return is_ascii_alphanumeric(c) || c == '_';
}

// Where the opening character of q(...), qq{...}, qx [...] or %x<...> is when one of these
// begins at `at`; npos when none does.
std::size_t opening_of(std::string_view code, std::size_t at) {
  if (at > 0 && is_word(code[at - 1])) return std::string_view::npos;
  std::size_t open = at + 1;
  if (code[at] == 'q') {
    if (open < code.size() && std::string_view("qxw").find(code[open]) != std::string_view::npos) {
      ++open;
    }
    while (open < code.size() && is_ascii_space(code[open])) ++open;
  } else if (code[at] == '%') {
    if (open < code.size() && std::string_view("qQxwW").find(code[open]) != std::string_view::npos)
      ++open;
  } else {
    return std::string_view::npos;
  }
  const bool opens = open < code.size() && !is_word(code[open]) && !is_ascii_space(code[open]) &&
                     std::string_view(",;)=").find(code[open]) == std::string_view::npos;
  return opens ? open : std::string_view::npos;
}

// The literal whose opening character is at `at`, which is then at the closing one. Pairs
// of brackets inside one are a part of it.
std::string literal_at(std::string_view code, std::size_t& at) {
  constexpr std::string_view opening = "([{<";
  constexpr std::string_view closing = ")]}>";
  const char open = code[at];
  const std::size_t kind = opening.find(open);
  const char close = kind == std::string_view::npos ? open : closing[kind];
  std::string literal;
  int depth = 1;
  for (++at; at < code.size(); ++at) {
    if (code[at] == close && --depth == 0) break;
    if (code[at] == open) ++depth;
    if (code[at] == '\\' && at + 1 < code.size()) ++at;
    literal.push_back(code[at]);
  }
  return literal;
}

bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

// The literals in the order they have, with Perl's and Ruby's own quoting or without.
std::vector<std::string> literals_of(std::string_view code, bool own) {
  std::vector<std::string> literals;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const std::size_t open = own ? opening_of(code, at) : std::string_view::npos;
    if (open != std::string_view::npos) at = open;
    if (open != std::string_view::npos || is_quote(code[at])) {
      literals.push_back(literal_at(code, at));
    }
  }
  return literals;
}

// The literals of such quoting that begin anywhere, also inside what merely looks like one: `%(`
// may be a remainder.
std::vector<std::string> inner_literals_of(std::string_view code) {
  constexpr std::size_t most = 256;
  std::vector<std::string> literals;
  for (std::size_t at = 0; at < code.size() && literals.size() < most; ++at) {
    std::size_t open = opening_of(code, at);
    if (open != std::string_view::npos) literals.push_back(literal_at(code, open));
  }
  return literals;
}

// Words of `systems` after one another make one command: ["rm", "-rf", "/"].
std::string joined(const std::vector<std::string>& literals) {
  std::string text;
  for (const std::string& literal : literals) {
    if (!text.empty()) text.push_back(' ');
    text.append(literal);
  }
  return text;
}

// What a shell may be given: each literal, and all of them as one command.
void add_texts(std::vector<std::string>& texts, const std::vector<std::string>& literals) {
  if (literals.size() > 1) texts.push_back(joined(literals));
  texts.insert(texts.end(), literals.begin(), literals.end());
}

// A mode such as 04755 or 0o4755, or nothing.
std::string mode_in(std::string_view code) {
  constexpr std::size_t digits = 4;
  for (std::size_t at = 0; at + digits <= code.size(); ++at) {
    const std::string_view mode = code.substr(at, digits);
    const bool whole = at + digits == code.size() || !is_ascii_digit(code[at + digits]);
    if (whole && mode[0] != '0' && std::all_of(mode.begin(), mode.end(), is_ascii_digit)) {
      return std::string(mode);
    }
  }
  return {};
}

}  // namespace

bool is_interpreter(std::string_view program) {
  const std::string_view name = unversioned(program);
  return std::find(interpreters.begin(), interpreters.end(), name) != interpreters.end();
}

std::vector<std::string> code_arguments(const ShellCommand& command) {
  static constexpr std::array<std::string_view, 3> long_names{"--eval", "--print", "--run"};
  static constexpr std::string_view letters = "ceErRp";
  std::vector<std::string> code;
  const auto& words = command.words;
  if (is_awk(command.program())) {
    const auto operands = command.operands();
    return {operands.begin(), operands.end()};
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    const bool is_long =
        std::find(long_names.begin(), long_names.end(), word.substr(0, equals)) != long_names.end();
    const bool is_short = word.size() > 1 && word[0] == '-' && word[1] != '-' &&
                          letters.find(word.back()) != std::string_view::npos;
    if (is_long && equals != std::string_view::npos) {
      code.emplace_back(word.substr(equals + 1));
    } else if ((is_long || is_short || word == "eval") && i + 1 < words.size()) {
      code.push_back(words[i + 1]);
    } else if (word.starts_with("-e") || word.starts_with("-c")) {
      code.emplace_back(word.substr(2));
    }
  }
  return code;
}

CodeReading read_code(std::string_view code, std::string_view program) {
  static constexpr std::array<std::string_view, 11> deletes{"rmtree",
                                                            "rimraf",
                                                            "rmSync",
                                                            "rm_r",
                                                            "remove_tree",
                                                            "remove_entry",
                                                            "fs.rm",
                                                            "rmdir",
                                                            "removedirs",
                                                            "remove_dir_all",
                                                            "RecursiveDirectoryIterator"};
  static constexpr std::array<std::string_view, 10> writes{
      "'w",         "\"w",         "'a", "\"a", "writeFile",
      "write_text", "write_bytes", "'>", "\">", "file_put_contents"};
  static constexpr std::array<std::string_view, 4> homes{"homedir", "Path.home", "Dir.home",
                                                         "expanduser"};
  CodeReading reading;
  std::vector<std::string> literals = literals_of(code, false);
  add_texts(reading.texts, literals);
  const std::string_view language = unversioned(program);
  if (language == "perl" || language == "ruby") {
    for (const auto& own : {literals_of(code, true), inner_literals_of(code)}) {
      add_texts(reading.texts, own);
      literals.insert(literals.end(), own.begin(), own.end());
    }
  }
  if (mentions(code, homes)) literals.emplace_back("~");
  ShellCommand names{{"code"}, {}, {}, {}};
  names.words.insert(names.words.end(), literals.begin(), literals.end());
  if (mentions(code, deletes)) {
    ShellCommand removal = names;
    removal.words.front() = "rm";
    removal.words.insert(removal.words.begin() + 1, "-rf");
    reading.commands.push_back(std::move(removal));
  }
  if (code.find("chmod") != std::string_view::npos) {
    ShellCommand change = names;
    change.words.front() = "chmod";
    change.words.insert(change.words.begin() + 1, mode_in(code));
    reading.commands.push_back(std::move(change));
  }
  if (mentions(code, writes)) {
    for (const std::string& literal : literals) names.redirects.push_back({true, literal});
  }
  reading.commands.push_back(std::move(names));
  return reading;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      plain.push_back(text[at]);
      continue;
    }
    const char kind = text[++at];
    const bool hex = kind == 'x';
    if (!hex && (kind < '0' || kind > '7')) {
      plain.push_back(kind == 'n' || kind == 't' ? ' ' : kind);
      continue;
    }
    int value = 0;
    std::size_t digits = 0;
    const std::size_t first = hex ? at + 1 : at;
    const std::size_t most = hex ? 2 : (kind == '0' ? 4 : 3);
    while (digits < most && first + digits < text.size()) {
      const char c = text[first + digits];
      const bool fits = hex ? is_ascii_hex_digit(c) : c >= '0' && c <= '7';
      if (!fits) break;
      value = value * (hex ? 16 : 8) + (is_ascii_digit(c) ? c - '0' : (c | 32) - 'a' + 10);
      ++digits;
    }
    plain.push_back(static_cast<char>(value));
    at = first + digits - 1;
  }
  return plain;
}

}  // namespace millrace::agent
