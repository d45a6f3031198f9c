#include "agent/shell/shell.hpp"

#include <algorithm>
#include <array>

#include "agent/shell/shell_code.hpp"
#include "agent/shell/shell_words.hpp"
#include "agent/shell/shell_wrappers.hpp"
#include "base/base64.hpp"

namespace millrace::agent {
namespace {

constexpr int deepest = 8;
constexpr std::size_t most_commands = 2048;
constexpr int most_wrappers = 64;

constexpr std::array<std::string_view, 11> shells{"sh",   "bash", "zsh",  "dash", "ksh",  "ash",
                                                  "fish", "csh",  "tcsh", "at",   "batch"};
template <class Table>
bool contains(const Table& table, std::string_view name) {
  return std::find(table.begin(), table.end(), name) != table.end();
}

// A command text with further words behind it, each taken literally.
std::string with_arguments(std::string_view text, const std::vector<std::string>& words,
                           std::size_t from) {
  std::string joined(text);
  for (std::size_t i = from; i < words.size(); ++i) {
    joined.append(" '");
    for (const char c : words[i]) joined.append(c == '\'' ? "'\\''" : std::string(1, c));
    joined.push_back('\'');
  }
  return joined;
}

class Reader {
 public:
  Reader(std::vector<ShellCommand>& out, bool& whole) : out_(out), whole_(whole) {}

  // Gives what the text writes, as far as that is known.
  std::string read(std::string_view text, int depth) {
    if (depth > deepest || out_.size() > most_commands) {
      whole_ = whole_ && text.empty();
      return {};
    }
    std::vector<std::string> nested;
    const Writes writes_of = [this, depth](const std::string& inner) {
      std::vector<ShellCommand> unused;
      Reader reader(unused, whole_);
      reader.variables_ = variables_;
      reader.directory_ = directory_;
      return reader.read(inner, depth + 1);
    };
    const std::vector<Token> tokens = tokens_of(text, variables_, nested, writes_of, whole_);
    std::string writes;
    std::vector<ShellCommand> pipeline;
    ShellCommand current;
    bool target_next = false;
    Redirect redirect;
    std::string here;
    const auto end_command = [&] {
      if (!current.words.empty() || !current.redirects.empty()) {
        pipeline.push_back(std::move(current));
      }
      current = {};
    };
    for (const Token& token : tokens) {
      if (token.kind == TokenKind::redirect) {
        redirect.writes = token.text.find('>') != std::string::npos;
        here = token.text;
        target_next = true;
      } else if (token.kind == TokenKind::word) {
        if (target_next && here == "<<<") {
          nested.push_back(token.text);
          current.input = token.text;
        } else if (target_next) {
          redirect.target = token.text;
          current.redirects.push_back(redirect);
        } else {
          current.words.push_back(token.text);
        }
        target_next = false;
      } else {
        end_command();
        if (token.kind == TokenKind::separator) add_words(writes, finish(pipeline, depth));
      }
    }
    end_command();
    add_words(writes, finish(pipeline, depth));
    for (const std::string& inner : nested) read(inner, depth + 1);
    return writes;
  }

 private:
  static void add_words(std::string& text, const std::string& more) {
    if (!text.empty() && !more.empty()) text.push_back(' ');
    text.append(more);
  }

  void keep(ShellCommand command) {
    if (out_.size() > most_commands) {
      whole_ = false;
    } else {
      out_.push_back(std::move(command));
    }
  }

  std::string finish(std::vector<ShellCommand>& pipeline, int depth) {
    std::string received;  // what the pipe carries, when that is known
    for (ShellCommand& command : pipeline) {
      command.directory = directory_;
      const std::string input = command.input.empty() ? received : command.input;
      received = handle(std::move(command), input, depth);
    }
    pipeline.clear();
    return received;
  }

  // Gives what the command writes to the next one of its pipeline, as far as that is known.
  std::string handle(ShellCommand command, const std::string& piped, int depth) {
    std::string found;
    if (command.words.size() > 2 && command.words[0] == "command" && command.words[1] == "-v") {
      found = command.words[2];
    }
    unwrap(command, piped, depth);
    const std::string program(command.program());
    std::string writes = found.empty() ? output_of(command, program, piped) : found;
    if (program == "cd" || program == "pushd") change_directory(command);
    run_inner(command, program, piped, depth);
    keep(std::move(command));
    return writes;
  }

  [[nodiscard]] std::string output_of(const ShellCommand& command, std::string_view program,
                                      const std::string& piped) const {
    std::string writes;
    if (program == "echo" || program == "printf") {
      for (const std::string_view word : command.operands()) add_words(writes, std::string(word));
      return program == "printf" || command.has_option('e', "") ? unescaped(writes) : writes;
    }
    if (program == "which" || program == "type") {
      for (const std::string_view word : command.operands()) add_words(writes, std::string(word));
      return writes;
    }
    if (program == "pwd") return directory_.empty() ? "." : directory_;
    if (program == "find") {
      const auto& words = command.words;
      for (std::size_t at = 1; at < words.size() && words[at][0] != '-'; ++at) {
        add_words(writes, words[at]);
      }
      return is_filtered(command) ? std::string() : writes;
    }
    if (program == "base64" &&
        (command.has_option('d', "decode") || command.has_option('D', "decode"))) {
      return base64::decode(piped).value_or(std::string());
    }
    if (program == "cat" || program == "tee") return piped;
    if (program == "rev") return {piped.rbegin(), piped.rend()};
    return {};
  }

  void change_directory(const ShellCommand& command) {
    const auto operands = command.operands();
    const std::string_view target = operands.empty() ? std::string_view("~") : operands.front();
    const bool absolute = target.starts_with('/') || target.starts_with('~') ||
                          target.starts_with('$') || directory_.empty();
    directory_ = absolute ? std::string(target) : directory_ + '/' + std::string(target);
  }

  // Takes wrappers, options of theirs and assignments off the front.
  void unwrap(ShellCommand& command, const std::string& piped, int depth) {
    for (int round = 0; !command.words.empty(); ++round) {
      if (round == most_wrappers) {
        whole_ = false;
        return;
      }
      auto& words = command.words;
      std::size_t skip = 0;
      while (skip < words.size() && is_assignment(words[skip])) ++skip;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(skip));
      if (words.empty()) return;
      const std::string_view name = command.program();
      const Wrapper* wrapper = find_wrapper(name);
      if (wrapper == nullptr) return;
      const bool feeds = wrapper->name == "xargs" && !piped.empty();
      if (wrapper->name == "env") split_string(words, depth);
      strip_wrapper(words, *wrapper);
      if (feeds) words.push_back(piped);
    }
  }

  // env -S cuts one word into a command; the words behind it are its arguments.
  void split_string(const std::vector<std::string>& words, int depth) {
    static constexpr std::string_view long_name = "--split-string";
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (word.starts_with("-S") || word.starts_with(long_name)) {
        std::string_view text = word.substr(word[1] == 'S' ? 2 : long_name.size());
        if (text.starts_with('=')) text.remove_prefix(1);
        std::size_t rest = i + 1;
        if (text.empty() && rest < words.size()) text = words[rest++];
        read(with_arguments(text, words, rest), depth + 1);
        return;
      }
    }
  }

  void run_inner(const ShellCommand& command, std::string_view program, const std::string& piped,
                 int depth) {
    const auto& words = command.words;
    if (contains(shells, program) || program == "su") {
      bool given = false;
      for (std::size_t i = 1; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        const bool runs = word.size() > 1 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
        if (runs || word == "--command") {
          given = true;
          read(words[i + 1], depth + 1);
          // Positional parameters are part of what runs.
          if (i + 2 < words.size()) read(with_arguments(words[i + 1], words, i + 2), depth + 1);
        }
      }
      if (!given && !piped.empty()) read(piped, depth + 1);
    } else if (program == "eval" || program == "ssh" || program == "trap") {
      std::string joined;
      for (std::size_t i = program == "ssh" ? 2 : 1; i < words.size(); ++i)
        joined += words[i] + ' ';
      read(joined, depth + 1);
    } else if (program == "find" || program == "fd") {
      run_find(command, depth);
    } else if (is_interpreter(program)) {
      for (const std::string& code : code_arguments(command)) run_code(code, program, depth);
      if (!piped.empty()) run_code(piped, program, depth);
    } else {
      run_hidden(command, program, depth);
    }
  }

  void run_code(std::string_view code, std::string_view program, int depth) {
    CodeReading reading = read_code(code, program);
    for (ShellCommand& command : reading.commands) {
      command.directory = directory_;
      keep(std::move(command));
    }
    for (const std::string& text : reading.texts) read(text, depth + 1);
  }

  // Programs that run or delete what few expect of them.
  void run_hidden(const ShellCommand& command, std::string_view program, int depth) {
    static constexpr std::array<std::string_view, 5> marks{
        "!", "exec=", "--command=", "--exec=", "ProxyCommand="};
    const auto operands = command.operands();
    const bool syncs = program == "rsync" && command.has_option('\0', "delete");
    const bool drops = program == "mv" && !operands.empty() && operands.back() == "/dev/null";
    if ((syncs || drops) && !operands.empty()) {
      ShellCommand removal{{"rm", "-rf"}, {}, command.directory, {}};
      removal.words.emplace_back(syncs ? operands.back() : operands.front());
      keep(std::move(removal));
    }
    static constexpr std::array<std::string_view, 11> hosts{
        "git", "tar", "vim", "vi", "nvim", "ex", "tmux", "screen", "sed", "less", "rlwrap"};
    if (!contains(hosts, program)) return;
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      const std::string_view word = command.words[i];
      for (const std::string_view mark : marks) {
        const std::size_t at = word.find(mark);
        if (at != std::string_view::npos) read(word.substr(at + mark.size()), depth + 1);
      }
      const bool whole = program == "tmux" || program == "screen";
      if (whole) read(with_arguments("", command.words, i), depth + 1);
      if (whole && word.find(' ') != std::string_view::npos) read(word, depth + 1);
    }
  }

  // A filter leaves most files alone.
  static bool is_filtered(const ShellCommand& command) {
    static constexpr std::array<std::string_view, 9> filters{
        "-name", "-iname", "-path", "-mtime", "-regex", "-size", "-empty", "-mmin", "-newer"};
    return std::any_of(command.words.begin(), command.words.end(),
                       [](std::string_view word) { return contains(filters, word); });
  }

  // find DIR -delete and find DIR -exec rm {} are deletions of DIR.
  void run_find(const ShellCommand& command, int depth) {
    const auto& words = command.words;
    std::vector<std::string> roots;
    std::size_t at = 1;
    while (at < words.size() && words[at][0] != '-' && words[at] != "(" && words[at] != "!") {
      roots.push_back(words[at++]);
    }
    const bool filtered = is_filtered(command);
    for (; at < words.size(); ++at) {
      const std::string& word = words[at];
      if (word == "-delete" && !filtered) {
        ShellCommand removal{{"rm", "-rf"}, {}, command.directory, {}};
        removal.words.insert(removal.words.end(), roots.begin(), roots.end());
        keep(std::move(removal));
      }
      static constexpr std::array<std::string_view, 8> runs{
          "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"};
      if (!contains(runs, word)) continue;
      ShellCommand inner{{}, {}, command.directory, {}};
      for (++at; at < words.size() && words[at] != ";" && words[at] != "+"; ++at) {
        if (words[at] == "{}") {
          if (!filtered) inner.words.insert(inner.words.end(), roots.begin(), roots.end());
        } else {
          inner.words.push_back(words[at]);
        }
      }
      handle(std::move(inner), {}, depth + 1);
    }
  }

  std::vector<ShellCommand>& out_;
  bool& whole_;
  Variables variables_;
  std::string directory_;
};

}  // namespace

ShellReading read_shell(std::string_view text) {
  ShellReading reading;
  Reader(reading.commands, reading.whole).read(text, 0);
  return reading;
}

}  // namespace millrace::agent
