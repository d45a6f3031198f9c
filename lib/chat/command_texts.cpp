#include "chat/command_texts.hpp"

namespace millrace::chat {
namespace {

constexpr auto english = std::to_array<std::string_view>({
    "Unknown command: {command}. Use /help for the list of commands.",
    "The option --help is deprecated. Use /help {command}.",
    "The command {command} cannot be used in a private chat.",
    "The command {command} requires the permission {permission}.",
    "The command {command} was used a moment ago. It can be used again in {seconds} seconds.",
    "The command failed. Try again later (error code: {code}).",
    "Usage:",
    "Example:",
    "Aliases:",
    "Subcommands:",
    "Commands:",
    "Use /help <command> for details.",
});
static_assert(english.size() == static_cast<std::size_t>(CommandText::count));

}  // namespace

CommandTexts::CommandTexts() {
  for (std::size_t at = 0; at < english.size(); ++at) sentences_.at(at) = english.at(at);
}

CommandTexts CommandTexts::compatible() {
  CommandTexts texts;
  texts.set(CommandText::unknown_command, "❌ 未知命令: {command}\n使用 /help 查看可用命令");
  texts.set(CommandText::failed, "❌ 命令执行失败，请稍后重试（错误码: {code}）");
  return texts;
}

void CommandTexts::set(CommandText text, std::string sentence) {
  sentences_.at(static_cast<std::size_t>(text)) = std::move(sentence);
}

// What a value has in braces stays.
std::string CommandTexts::format(CommandText text, std::initializer_list<Value> values) const {
  std::string_view rest = sentences_.at(static_cast<std::size_t>(text));
  std::string out;
  while (true) {
    const std::size_t open = rest.find('{');
    const std::size_t close = rest.find('}', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const std::string_view name = rest.substr(open + 1, close - open - 1);
    out.append(rest, 0, open);
    bool is_known = false;
    for (const auto& [key, value] : values) {
      if (key != name) continue;
      out.append(value);
      is_known = true;
    }
    if (!is_known) out.append(rest, open, close + 1 - open);
    rest.remove_prefix(close + 1);
  }
  return out.append(rest);
}

}  // namespace millrace::chat
