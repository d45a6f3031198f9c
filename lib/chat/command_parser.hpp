// The text of a slash command: its name and its arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::chat {

struct CommandLine {
  std::string name;  // in lower case
  std::vector<std::string> arguments;
};

// A slash and a word at the beginning, behind mentions of the bot, with white space or nothing
// behind it. Anything else is a message: `/etc/passwd` is a path.
std::optional<CommandLine> parse_command(std::string_view text, std::string_view bot_id = {});

// Words as a shell has them: quotes, backslashes. A text with a quote that is open is split at its
// white space alone.
std::vector<std::string> split_words(std::string_view text);

// The id in `[CQ:at,qq=1]`, `[@1]` and `@1`; any other word as it is.
std::string_view mentioned_id(std::string_view word);

}  // namespace millrace::chat
