#include "chat/command_dispatch.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "chat/command_parser.hpp"

namespace millrace::chat {
namespace {

constexpr std::int64_t wait_unit_ms = 1000;
// The command that the texts name. A host may have its own.
constexpr std::string_view help_name = "help";

std::string path_of(const Command& command, const Subcommand* subcommand) {
  std::string path = command.name;
  if (subcommand != nullptr) path.append(" ").append(subcommand->name);
  return path;
}

const CommandAccess& access_of(const Command& command, const Subcommand* subcommand) {
  return subcommand == nullptr ? command.access : subcommand->access;
}

// The name of the subcommand that the arguments mean; "" is none.
std::string_view inferred(const Inference& inference, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return inference.otherwise;
  for (const Inference::Rule& rule : inference.rules) {
    if (rule.pattern && rule.pattern->found_in(arguments.front()).value_or(false)) {
      return rule.subcommand;
    }
  }
  return inference.fallback;
}

void append_line(std::string& out, std::string_view text) {
  if (text.empty()) return;
  if (!out.empty()) out.push_back('\n');
  out.append(text);
}

std::string labelled(std::string label, std::string_view text) {
  return text.empty() ? std::string() : label.append(" ").append(text);
}

CommandDecision answer(std::string text, std::shared_ptr<const Command> command = {}) {
  CommandDecision decision;
  decision.kind = CommandDecision::Kind::answer;
  decision.text = std::move(text);
  decision.command = std::move(command);
  return decision;
}

}  // namespace

std::string_view unavailable_reason(const CommandAccess& access, const CommandSender& sender) {
  if (sender.scope == CommandScope::private_chat && !access.allow_in_private) {
    return "private_not_allowed";
  }
  if (sender.permission >= access.permission) return {};
  return access.permission == Permission::admin ? "requires_admin" : "requires_superadmin";
}

std::string_view unavailable_reason(const Command& command, const Subcommand* subcommand,
                                    const CommandSender& sender, const CommandPolicy& policy) {
  if (policy && !policy(command, sender)) return "policy_hidden";
  return unavailable_reason(access_of(command, subcommand), sender);
}

ResolvedCommand resolve(const Command& command, std::vector<std::string> arguments) {
  ResolvedCommand resolved;
  if (!arguments.empty()) resolved.subcommand = command.subcommand(arguments.front());
  if (resolved.subcommand == nullptr && command.inference) {
    resolved.subcommand = command.subcommand(inferred(*command.inference, arguments));
    if (resolved.subcommand != nullptr) {
      arguments.insert(arguments.begin(), resolved.subcommand->name);
    }
  }
  resolved.arguments = std::move(arguments);
  return resolved;
}

std::optional<std::int64_t> CommandUses::use(std::string_view command, std::string_view sender,
                                             std::int64_t limit_ms, std::int64_t now_ms) {
  if (limit_ms <= 0) return std::nullopt;
  std::pair<std::string, std::string> key(command, sender);
  const auto found = free_at_.find(key);
  if (found != free_at_.end() && found->second > now_ms) {
    // A clock that was set back makes no one wait longer than the limit.
    found->second = std::min(found->second, now_ms + limit_ms);
    return found->second - now_ms;
  }
  free_at_[std::move(key)] = now_ms + limit_ms;
  if (free_at_.size() >= forget_at_) forget(now_ms);
  return std::nullopt;
}

void CommandUses::forget(std::int64_t now_ms) {
  std::erase_if(free_at_, [now_ms](const auto& entry) { return entry.second <= now_ms; });
  constexpr std::size_t least = 1024;
  forget_at_ = std::max(least, free_at_.size() * 2);
}

CommandDecision CommandDispatcher::decide(std::string_view text, const CommandSender& sender,
                                          std::int64_t now_ms) {
  auto line = parse_command(text, bot_id);
  if (!line) return {};
  auto command = registry.find(line->name);
  if (command == nullptr && line->name == help_name) return explain(line->arguments, sender);
  if (command == nullptr) {
    return answer(texts_.format(CommandText::unknown_command, {{"command", line->name}}));
  }
  if (!line->arguments.empty() && line->arguments.front() == "--help") {
    return answer(texts_.format(CommandText::help_has_moved, {{"command", command->name}}),
                  command);
  }
  ResolvedCommand resolved = resolve(*command, std::move(line->arguments));
  const std::string path = path_of(*command, resolved.subcommand);
  const CommandAccess& access = access_of(*command, resolved.subcommand);
  const std::string_view reason = unavailable_reason(*command, resolved.subcommand, sender, policy);
  if (reason == "policy_hidden") {
    return answer(texts_.format(CommandText::unknown_command, {{"command", line->name}}));
  }
  if (reason == "private_not_allowed") {
    return answer(texts_.format(CommandText::not_in_private, {{"command", path}}), command);
  }
  if (!reason.empty()) {
    return answer(texts_.format(CommandText::requires_permission,
                                {{"command", path}, {"permission", name_of(access.permission)}}),
                  command);
  }
  const std::int64_t limit = access.rate_limit.at(static_cast<std::size_t>(sender.permission));
  if (const auto wait = uses_.use(path, sender.id, limit, now_ms)) {
    const std::string seconds = std::to_string((*wait + wait_unit_ms - 1) / wait_unit_ms);
    return answer(texts_.format(CommandText::too_soon, {{"command", path}, {"seconds", seconds}}),
                  command);
  }
  CommandDecision decision;
  decision.kind = CommandDecision::Kind::run;
  decision.command = command;
  if (resolved.subcommand != nullptr) decision.subcommand = resolved.subcommand->name;
  decision.arguments = std::move(resolved.arguments);
  return decision;
}

CommandDecision CommandDispatcher::explain(const std::vector<std::string>& arguments,
                                           const CommandSender& sender) const {
  if (arguments.empty()) return answer(help_list(sender));
  std::string name = arguments.front();
  if (name.starts_with('/')) name.erase(0, 1);
  std::transform(name.begin(), name.end(), name.begin(), to_lower);
  const auto command = registry.find(name);
  const bool is_hidden = command != nullptr && policy && !policy(*command, sender);
  if (command != nullptr && !is_hidden) return answer(help(*command, sender), command);
  return answer(texts_.format(CommandText::unknown_command, {{"command", name}}));
}

std::string CommandDispatcher::failure(std::string_view code) const {
  return texts_.format(CommandText::failed, {{"code", code}});
}

std::string CommandDispatcher::help(const Command& command, const CommandSender& sender) const {
  std::string out = command.trigger();
  if (!command.description.empty()) out.append(" - ").append(command.description);
  append_line(out, labelled(texts_.format(CommandText::usage), command.usage));
  append_line(out, labelled(texts_.format(CommandText::example), command.example));
  std::string aliases;
  for (const std::string& alias : command.aliases) {
    aliases.append(aliases.empty() ? "/" : ", /").append(alias);
  }
  append_line(out, labelled(texts_.format(CommandText::aliases), aliases));
  bool has_title = false;
  for (const Subcommand& subcommand : command.subcommands) {
    if (!unavailable_reason(subcommand.access, sender).empty()) continue;
    if (!std::exchange(has_title, true)) {
      append_line(out, texts_.format(CommandText::subcommands));
    }
    std::string line = "  " + subcommand.name;
    if (!subcommand.arguments.empty()) line.append(" ").append(subcommand.arguments);
    if (!subcommand.description.empty()) line.append(" - ").append(subcommand.description);
    append_line(out, line);
  }
  append_line(out, command.help_text);
  for (const std::string& line : command.help_footer) append_line(out, line);
  return out;
}

std::string CommandDispatcher::help_list(const CommandSender& sender) const {
  std::string out = texts_.format(CommandText::list_title);
  for (const auto& command : registry.all()) {
    const auto& list = command->subcommands;
    const bool is_available = unavailable_reason(*command, nullptr, sender, policy).empty() ||
                              std::any_of(list.begin(), list.end(), [&](const Subcommand& one) {
                                return unavailable_reason(*command, &one, sender, policy).empty();
                              });
    if (!command->show_in_help || !is_available) continue;
    std::string line = "  " + command->usage;
    if (!command->description.empty()) line.append(" - ").append(command->description);
    append_line(out, line);
  }
  append_line(out, texts_.format(CommandText::list_footer));
  return out;
}

}  // namespace millrace::chat
