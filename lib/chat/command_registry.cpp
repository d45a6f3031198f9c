#include "chat/command_registry.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/shown.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

constexpr auto permission_names =
    std::to_array<std::string_view>({"public", "admin", "superadmin"});
constexpr auto limit_names = std::to_array<std::string_view>({"user", "admin", "superadmin"});
constexpr double limit_unit_ms = 1000;
constexpr double longest_limit_seconds = 366.0 * 86'400;
constexpr std::int64_t hour_ms = 3'600'000;

std::string text_of(const Tree& declaration, std::string_view key) {
  return std::string(json::trim(declaration[key].string()));
}

std::vector<std::string> texts_of(const Tree& list) {
  std::vector<std::string> texts;
  for (const Tree& item : list.items()) {
    if (item.is_string()) texts.emplace_back(item.string());
  }
  return texts;
}

bool is_word_text(std::string_view name) {
  return !name.empty() && name.find_first_of(" \t\r\n/") == std::string_view::npos;
}

Error wrong(std::string_view command, const std::string& what) {
  return make_error(Errc::invalid_option,
                    "The command " + shown_text(command) + " is not valid: " + what + ".");
}

// The limits that are declared; others stay.
bool read_limits(RateLimit& limits, const Tree& declared) {
  if (declared.is_null()) return true;
  if (declared.is_string()) {
    if (declared.string() == "none") limits = {0, 0, 0};
    if (declared.string() == "stats") limits[0] = hour_ms;
    return declared.string() == "none" || declared.string() == "stats";
  }
  if (!declared.is_object()) return false;
  for (std::size_t at = 0; at < limit_names.size(); ++at) {
    const Tree& value = declared[limit_names.at(at)];
    if (value.is_null()) continue;
    const double seconds = value.number_or(-1);
    if (!(seconds >= 0) || seconds > longest_limit_seconds) return false;
    limits.at(at) = static_cast<std::int64_t>(seconds * limit_unit_ms);
  }
  return true;
}

// What is not declared stays.
Result<void> read_access(CommandAccess& access, const Tree& declaration, std::string_view command) {
  const Tree& permission = declaration["permission"];
  if (!permission.is_null()) {
    const auto* found =
        std::find(permission_names.begin(), permission_names.end(), permission.string());
    if (found == permission_names.end()) {
      return wrong(command, "its permission is " + shown_value(permission) +
                                ", which is not public, admin or superadmin");
    }
    access.permission = static_cast<Permission>(found - permission_names.begin());
  }
  const Tree& is_private = declaration["allow_in_private"];
  if (!is_private.is_null()) access.allow_in_private = is_private.is_true();
  if (!read_limits(access.rate_limit, declaration["rate_limit"])) {
    return wrong(command, "its rate_limit is neither \"none\", \"stats\" nor an object of seconds");
  }
  return {};
}

Result<std::optional<schema::Pattern>> read_pattern(const std::string& source,
                                                    std::string_view command) {
  auto pattern = schema::Pattern::compile("^(?:" + source + ")$");
  if (!pattern || !pattern.value().is_known()) {
    return wrong(command, "the pattern " + shown_text(source) + " is no regular expression");
  }
  return std::optional<schema::Pattern>(std::move(pattern).value());
}

Result<void> read_inference(Command& command, const Tree& declared) {
  if (!declared.is_object()) return {};
  Inference inference;
  inference.otherwise = lowered(text_of(declared, "default"));
  inference.fallback = lowered(text_of(declared, "fallback"));
  for (const Tree& item : declared["rules"].items()) {
    Inference::Rule rule;
    rule.source = item["pattern"].string();
    rule.subcommand = lowered(text_of(item, "subcommand"));
    auto pattern = read_pattern(rule.source, command.name);
    if (!pattern) return std::move(pattern).error();
    rule.pattern = std::move(pattern).value();
    inference.rules.push_back(std::move(rule));
  }
  std::vector<std::string> names{inference.otherwise, inference.fallback};
  for (const Inference::Rule& rule : inference.rules) names.push_back(rule.subcommand);
  for (const std::string& name : names) {
    if (!name.empty() && command.subcommand(name) == nullptr) {
      return wrong(command.name, "its inference names " + shown_text(name) +
                                     ", which is not one of its subcommands");
    }
  }
  command.inference = std::move(inference);
  return {};
}

Result<void> read_subcommands(Command& command, const Tree& declared) {
  for (const auto& [key, declaration] : declared.members()) {
    Subcommand made;
    made.name = lowered(json::trim(key.view()));
    if (!is_word_text(made.name)) return wrong(command.name, "a subcommand has no name");
    made.description = text_of(declaration, "description");
    made.arguments = text_of(declaration, "args");
    made.access = command.access;
    MILLRACE_TRY(read_access(made.access, declaration, command.name));
    command.subcommands.push_back(std::move(made));
  }
  return {};
}

}  // namespace

std::string_view name_of(Permission permission) {
  return permission_names.at(static_cast<std::size_t>(permission));
}

const Subcommand* Command::subcommand(std::string_view wanted) const {
  for (const Subcommand& candidate : subcommands) {
    if (equal_ignoring_case(candidate.name, wanted)) return &candidate;
  }
  return nullptr;
}

Result<Command> read_command(const Tree& declaration) {
  Command command;
  command.name = lowered(text_of(declaration, "name"));
  if (!is_word_text(command.name)) {
    return make_error(Errc::invalid_option,
                      "A command has no name, or its name has white space or a slash.");
  }
  command.description = text_of(declaration, "description");
  command.usage = text_of(declaration, "usage");
  if (command.usage.empty()) command.usage = command.trigger();
  command.example = text_of(declaration, "example");
  command.help_text = text_of(declaration, "help_text");
  command.help_footer = texts_of(declaration["help_footer"]);
  for (const std::string& alias : texts_of(declaration["aliases"])) {
    const std::string name = lowered(json::trim(alias));
    if (is_word_text(name)) command.aliases.push_back(name);
  }
  const Tree& is_shown = declaration["show_in_help"];
  command.show_in_help = is_shown.is_null() || is_shown.is_true();
  command.order = declaration["order"].integer_or(command.order);
  MILLRACE_TRY(read_access(command.access, declaration, command.name));
  MILLRACE_TRY(read_subcommands(command, declaration["subcommands"]));
  MILLRACE_TRY(read_inference(command, declaration["inference"]));
  return command;
}

void CommandRegistry::add(Command command) {
  const std::string name = command.name;
  remove(name);
  added_.push_back(name);
  commands_[name] = std::make_shared<const Command>(std::move(command));
}

void CommandRegistry::remove(std::string_view name) {
  const auto found = commands_.find(name);
  if (found == commands_.end()) return;
  std::erase(added_, found->first);
  commands_.erase(found);
}

std::shared_ptr<const Command> CommandRegistry::find(std::string_view given) const {
  const std::string name = lowered(given);
  if (const auto found = commands_.find(name); found != commands_.end()) return found->second;
  for (const std::string& owner : added_) {
    const auto& command = commands_.find(owner)->second;
    const auto& aliases = command->aliases;
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return command;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const Command>> CommandRegistry::all() const {
  std::vector<std::shared_ptr<const Command>> list;
  for (const auto& [name, command] : commands_) list.push_back(command);
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& one, const auto& other) { return one->order < other->order; });
  return list;
}

}  // namespace millrace::chat
