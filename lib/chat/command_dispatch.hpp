// What becomes of a message that may be a slash command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/command_registry.hpp"
#include "chat/command_texts.hpp"

namespace millrace::chat {

enum class CommandScope : std::uint8_t { private_chat, group };

// Who sends a message, and where.
struct CommandSender {
  std::string id;
  Permission permission = Permission::everyone;
  CommandScope scope = CommandScope::private_chat;
};

// A command may be hidden from a sender for reasons of its host.
using CommandPolicy = std::function<bool(const Command&, const CommandSender&)>;

// Why a command cannot be used; "" when it can. In this order: policy_hidden, private_not_allowed,
// requires_admin, requires_superadmin.
std::string_view unavailable_reason(const CommandAccess& access, const CommandSender& sender);
std::string_view unavailable_reason(const Command& command, const Subcommand* subcommand,
                                    const CommandSender& sender, const CommandPolicy& policy);

// The subcommand that is meant, and the arguments with its name before them.
struct ResolvedCommand {
  const Subcommand* subcommand = nullptr;
  std::vector<std::string> arguments;
};
ResolvedCommand resolve(const Command& command, std::vector<std::string> arguments);

// When each sender used each command last.
class CommandUses {
 public:
  // How long the sender has to wait; nothing when it is a use now, which is noted.
  std::optional<std::int64_t> use(std::string_view command, std::string_view sender,
                                  std::int64_t limit_ms, std::int64_t now_ms);
  [[nodiscard]] std::size_t size() const { return free_at_.size(); }

 private:
  void forget(std::int64_t now_ms);

  std::map<std::pair<std::string, std::string>, std::int64_t> free_at_;
  std::size_t forget_at_ = 1024;
};

struct CommandDecision {
  enum class Kind : std::uint8_t {
    message,  // no command: for the agent
    run,      // the command's handler
    answer,   // `text`, as an output of a job that succeeds
  };
  Kind kind = Kind::message;
  std::string text;
  std::shared_ptr<const Command> command;
  std::string subcommand;              // "" is none
  std::vector<std::string> arguments;  // begin with the subcommand
};

// Thread: any, one at a time.
class CommandDispatcher {
 public:
  explicit CommandDispatcher(CommandTexts texts = {}) : texts_(std::move(texts)) {}

  CommandRegistry registry;
  CommandPolicy policy;
  std::string bot_id;  // whose mentions are passed over

  CommandDecision decide(std::string_view text, const CommandSender& sender, std::int64_t now_ms);
  // What a handler that failed is answered with.
  [[nodiscard]] std::string failure(std::string_view code) const;
  // What a command is for; the commands that a sender sees.
  [[nodiscard]] std::string help(const Command& command, const CommandSender& sender) const;
  [[nodiscard]] std::string help_list(const CommandSender& sender) const;

 private:
  [[nodiscard]] CommandDecision explain(const std::vector<std::string>& arguments,
                                        const CommandSender& sender) const;

  CommandTexts texts_;
  CommandUses uses_;
};

}  // namespace millrace::chat
