// Slash commands: what each is declared as, and who may use it where.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "schema/pattern.hpp"

namespace millrace::chat {

// Each has what those before it have.
enum class Permission : std::uint8_t { everyone, admin, superadmin };
std::string_view name_of(Permission permission);

// Milliseconds between two uses, by permission.
using RateLimit = std::array<std::int64_t, 3>;

// Who may use a command or a subcommand.
struct CommandAccess {
  Permission permission = Permission::everyone;
  bool allow_in_private = false;
  RateLimit rate_limit{10'000, 5'000, 0};
};

struct Subcommand {
  std::string name;
  std::string description;
  std::string arguments;
  CommandAccess access;
};

// Which subcommand is meant where none is named.
struct Inference {
  struct Rule {
    std::string source;
    std::optional<schema::Pattern> pattern;
    std::string subcommand;
  };
  std::string otherwise;  // without arguments
  std::vector<Rule> rules;
  std::string fallback;
};

struct Command {
  std::string name;
  std::string description;
  std::string usage;
  std::string example;
  std::string help_text;
  std::vector<std::string> help_footer;
  std::vector<std::string> aliases;
  std::vector<Subcommand> subcommands;
  std::optional<Inference> inference;
  CommandAccess access;
  std::int64_t order = 999;
  bool show_in_help = true;

  [[nodiscard]] std::string trigger() const { return "/" + name; }
  [[nodiscard]] const Subcommand* subcommand(std::string_view name) const;
};

// Shape: a `config.json` of contract B.9.
// Errors: invalid_option (no name, an unknown permission, a pattern that is none, an inference that
// names an unknown subcommand): what is wrong must not open a command to everyone.
Result<Command> read_command(const json::Tree& declaration);

// Thread: any, one at a time; what is shared is not changed.
class CommandRegistry {
 public:
  // A command of the same name is replaced.
  void add(Command command);
  void remove(std::string_view name);
  // By its name or an alias. Of an alias that two have, the first owner counts.
  [[nodiscard]] std::shared_ptr<const Command> find(std::string_view name) const;
  // By their order, then by their names.
  [[nodiscard]] std::vector<std::shared_ptr<const Command>> all() const;

 private:
  std::map<std::string, std::shared_ptr<const Command>, std::less<>> commands_;
  std::vector<std::string> added_;  // names in the order in which they came
};

}  // namespace millrace::chat
