// The sentences that slash commands answer with, which a host can replace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::chat {

enum class CommandText : std::uint8_t {
  unknown_command,      // {command}
  help_has_moved,       // {command}
  not_in_private,       // {command}
  requires_permission,  // {command}, {permission}
  too_soon,             // {command}, {seconds}
  failed,               // {code}
  usage,
  example,
  aliases,
  subcommands,
  list_title,
  list_footer,
  count,
};

// Names of values are in braces.
class CommandTexts {
 public:
  // In English.
  CommandTexts();
  // With the sentences of the original API that its clients may look for.
  static CommandTexts compatible();

  void set(CommandText text, std::string sentence);
  using Value = std::pair<std::string_view, std::string_view>;
  [[nodiscard]] std::string format(CommandText text,
                                   std::initializer_list<Value> values = {}) const;

 private:
  std::array<std::string, static_cast<std::size_t>(CommandText::count)> sentences_;
};

}  // namespace millrace::chat
