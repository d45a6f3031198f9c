#include "agent/approval/matchers.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "agent/approval/blacklist.hpp"
#include "agent/approval/glob.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// A list of words is a command as well.
std::string command_text(const Tree& value) {
  if (!value.is_array()) return text_of(value);
  std::string joined;
  for (const Tree& word : value.items()) {
    joined.push_back('\'');
    for (const char c : text_of(word)) {
      if (c == '\'') joined.append("'\\'");
      joined.push_back(c);
    }
    joined.append("' ");
  }
  return joined;
}

// Every text in the arguments that a shell may be given, by the names that tools have for it.
void collect_texts(std::vector<std::string>& texts, const Tree& args, int depth) {
  constexpr std::array<std::string_view, 10> commands{
      "command",      "cmd",           "script", "commandLine", "command_line",
      "shellCommand", "shell_command", "argv",   "program",     "executable"};
  constexpr std::array<std::string_view, 2> arguments{"args", "arguments"};
  constexpr int deepest = 4;
  for (const std::string_view name : commands) {
    if (!args[name].is_null()) texts.push_back(command_text(args[name]));
  }
  for (const Tree& command : args["commands"].items()) texts.push_back(text_of(command));
  for (const std::string_view rest : arguments) {
    if (!args[rest].is_array()) continue;
    texts.push_back(command_text(args[rest]));
    for (const std::string_view name : commands) {
      if (args[name].is_string()) {
        texts.push_back(text_of(args[name]) + ' ' + command_text(args[rest]));
      }
    }
  }
  if (depth >= deepest) return;
  for (const auto& [name, value] : args.members()) {
    if (value.is_object()) collect_texts(texts, value, depth + 1);
    for (const Tree& item : value.items()) {
      if (item.is_object()) collect_texts(texts, item, depth + 1);
    }
  }
}

std::vector<std::string> command_texts(const Tree& args) {
  std::vector<std::string> texts;
  collect_texts(texts, args, 0);
  return texts;
}

bool match_shell(std::string_view predicate, const std::string& text) {
  const BlacklistRow* row = find_blacklist_row(predicate);
  if (row == nullptr || row->command == nullptr) return false;
  const ShellReading reading = read_shell(text);
  return !reading.whole || row->command(reading.commands, text);
}

bool match_path(std::string_view predicate, const Tree& value) {
  const BlacklistRow* row = find_blacklist_row(predicate);
  if (row == nullptr || row->path == nullptr) return false;
  if (!value.is_array()) return row->path(text_of(value));
  return std::any_of(value.items().begin(), value.items().end(),
                     [&](const Tree& item) { return row->path(text_of(item)); });
}

// Every path in the arguments, by the names that tools have for it.
void collect_paths(std::vector<const Tree*>& paths, const Tree& args, int depth) {
  constexpr std::array<std::string_view, 6> names{"path",      "file",     "filePath",
                                                  "file_path", "filename", "paths"};
  constexpr std::array<std::string_view, 2> addresses{"url", "uri"};
  constexpr int deepest = 4;
  for (const std::string_view name : names) {
    if (!args[name].is_null()) paths.push_back(&args[name]);
  }
  for (const std::string_view name : addresses) {
    if (args[name].string().starts_with("file:")) paths.push_back(&args[name]);
  }
  if (depth >= deepest) return;
  for (const auto& [name, value] : args.members()) {
    if (value.is_object()) collect_paths(paths, value, depth + 1);
    for (const Tree& item : value.items()) {
      if (item.is_object()) collect_paths(paths, item, depth + 1);
    }
  }
}

// What a matcher compares with. A rule of shell commands may have it as its predicate.
std::string_view pattern_of(const Tree& matcher) {
  const bool shell = matcher["type"].string() == "semanticShell";
  return shell && matcher["predicate"].is_string() ? matcher["predicate"].string()
                                                   : matcher["pattern"].string();
}

bool fits(const Tree& matcher, const Tree& value, const RegexTest& regex, bool if_unknown);

// A rule that asks applies where one element of a list fits, one that allows only where all of them
// do. The text of the whole list is compared as well.
bool fits_list(const Tree& matcher, const Tree& value, const RegexTest& regex, bool asks) {
  const bool whole = fits(matcher, value, regex, asks);
  if (!value.is_array()) return whole;
  const auto each = [&](const Tree& item) { return fits_list(matcher, item, regex, asks); };
  const auto& items = value.items();
  return asks ? whole || std::any_of(items.begin(), items.end(), each)
              : whole && std::all_of(items.begin(), items.end(), each);
}

bool matches_named(std::string_view argument, const Tree& matcher, const Tree& args,
                   const RegexTest& regex, bool if_unknown) {
  const std::string_view type = matcher["type"].string();
  const std::string_view pattern = pattern_of(matcher);
  if (type == "semanticShell" && argument == "command") {
    const auto texts = command_texts(args);
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return match_shell(pattern, text); });
  }
  if (type == "sensitivePath" && argument == "path") {
    std::vector<const Tree*> paths;
    collect_paths(paths, args, 0);
    return std::any_of(paths.begin(), paths.end(),
                       [&](const Tree* path) { return match_path(pattern, *path); });
  }
  const Tree* value = args.find(argument);
  if (value == nullptr || value->is_null()) return false;
  return fits_list(matcher, *value, regex, if_unknown);
}

// The semantic rules of the default list share one reading of the command.
std::optional<BlacklistHit> check_default(const Tree& args) {
  std::vector<std::pair<std::string, ShellReading>> commands;
  for (std::string& text : command_texts(args)) {
    ShellReading reading = read_shell(text);
    // What cannot be read to its end may do anything.
    if (!reading.whole) return BlacklistHit{"securityBlacklist.unreadableCommand", true};
    commands.emplace_back(std::move(text), std::move(reading));
  }
  std::vector<const Tree*> paths;
  collect_paths(paths, args, 0);
  for (const BlacklistRow& row : blacklist_rows()) {
    const bool hit = std::any_of(commands.begin(), commands.end(),
                                 [&](const auto& command) {
                                   return row.command(command.second.commands, command.first);
                                 }) ||
                     std::any_of(paths.begin(), paths.end(),
                                 [&](const Tree* path) { return match_path(row.name, *path); });
    if (hit) return BlacklistHit{"securityBlacklist." + std::string(row.name), row.hard};
  }
  return std::nullopt;
}

bool fits(const Tree& matcher, const Tree& value, const RegexTest& regex, bool if_unknown) {
  if (matcher.is_string()) return match_pattern(matcher.string(), text_of(value));
  const std::string_view type = matcher["type"].string();
  const std::string_view pattern = pattern_of(matcher);
  if (type == "semanticShell") return match_shell(pattern, command_text(value));
  if (type == "sensitivePath") return match_path(pattern, value);
  const std::string text = text_of(value);
  if (type == "exact") return text == pattern;
  if (type == "prefix") return text.starts_with(pattern);
  if (type == "wildcard") return match_pattern(pattern, text);
  if (type == "regex" && regex) return regex(pattern, text).value_or(if_unknown);
  return false;
}

}  // namespace

std::string text_of(const Tree& value) {
  if (value.is_string()) return std::string(value.string());
  if (value.is_object()) return "[object Object]";
  if (!value.is_array()) return value.to_json();
  std::string joined;
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    if (i > 0) joined.push_back(',');
    if (!value.items()[i].is_null()) joined.append(text_of(value.items()[i]));
  }
  return joined;
}

bool matches_rule(const Tree& match, const Tree& args, const RegexTest& regex, bool allows) {
  return std::all_of(match.members().begin(), match.members().end(), [&](const Tree::Member& row) {
    return matches_named(row.first, row.second, args, regex, !allows);
  });
}

bool passes_prefix(const Tree& match, const Tree& args) {
  return std::any_of(match.members().begin(), match.members().end(), [&](const Tree::Member& row) {
    const std::string_view pattern =
        row.second.is_string() ? row.second.string() : row.second["pattern"].string();
    if (!pattern.ends_with(":*")) return false;
    const std::string text = text_of(args[row.first]);
    const ShellReading reading = read_shell(text);
    const auto& commands = reading.commands;
    return !reading.whole || commands.size() > 1 ||
           std::any_of(commands.begin(), commands.end(),
                       [](const ShellCommand& command) { return !command.redirects.empty(); });
  });
}

bool match_pattern(std::string_view pattern, std::string_view value) {
  if (pattern.ends_with(":*")) {
    const std::string_view prefix = pattern.substr(0, pattern.size() - 2);
    if (value == prefix) return true;
    if (value.starts_with(prefix) && (value[prefix.size()] == ':' || value[prefix.size()] == ' ')) {
      return true;
    }
  }
  return glob_matches(GlobKind::text, pattern, value);
}

bool matches_argument(const Tree& matcher, const Tree& value, const RegexTest& regex) {
  return fits(matcher, value, regex, false);
}

std::optional<BlacklistHit> check_blacklist(const Tree& blacklist, const Tree& args,
                                            const RegexTest& regex) {
  if (blacklist.is_null()) return check_default(args);
  std::optional<BlacklistHit> hit;
  for (const Tree& rule : blacklist.items()) {
    const Tree& match = rule["match"];
    if (match.members().empty() || !matches_rule(match, args, regex, false)) continue;
    if (!hit) hit = BlacklistHit{std::string(rule["description"].string()), false};
    hit->hard = rule["policy"].string() != "required";
    if (hit->hard) break;
  }
  return hit;
}

}  // namespace millrace::agent
