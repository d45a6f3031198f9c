#include "chat/command_catalogue.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/letter_case.hpp"
#include "chat/references.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

std::int64_t number_or(std::string_view text, std::int64_t otherwise) {
  text = json::trim(text);
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return !text.empty() && is_whole ? number : otherwise;
}

Tree text_or_null(std::string_view text) {
  return text.empty() ? Tree() : Tree::text(text);
}

Tree texts(const std::vector<std::string>& list, std::string_view prefix = {}) {
  Tree items = Tree::array();
  for (const std::string& text : list) items.push(Tree::text(std::string(prefix) + text));
  return items;
}

std::vector<const Subcommand*> by_name(const std::vector<Subcommand>& list) {
  std::vector<const Subcommand*> sorted;
  for (const Subcommand& one : list) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* one, const auto* other) { return one->name < other->name; });
  return sorted;
}

void set_access(Tree& item, const CommandAccess& access) {
  item.set("permission", name_of(access.permission));
  item.set("allow_in_private", Tree::flag(access.allow_in_private));
}

void set_availability(Tree& item, std::string_view reason) {
  item.set("available", Tree::flag(reason.empty()));
  item.set("unavailable_reason", text_or_null(reason));
}

Tree inference_item(const std::optional<Inference>& inference) {
  if (!inference) return {};
  Tree item = Tree::object();
  item.set("default", text_or_null(inference->otherwise));
  item.set("fallback", text_or_null(inference->fallback));
  Tree rules = Tree::array();
  for (const Inference::Rule& rule : inference->rules) {
    Tree made = Tree::object();
    made.set("pattern", rule.source);
    made.set("subcommand", rule.subcommand);
    rules.push(std::move(made));
  }
  item.set("rules", std::move(rules));
  return item;
}

// One request for the catalogue.
class Catalogue {
 public:
  Catalogue(const CatalogueQuery& query, const CatalogueSettings& settings)
      : settings_(settings),
        has_hidden_(is_loosely_true(query.include_hidden)),
        has_unavailable_(is_loosely_true(query.include_unavailable)) {
    answer_ = Tree::object();
    const bool is_group = query.scope == "group";
    const bool is_private = query.scope == "private";
    const std::int64_t sender = is_group || is_private
                                    ? number_or(query.sender_id, settings.superadmin)
                                    : settings.superadmin;
    answer_.set("scope", is_group || is_private ? query.scope : "webui");
    answer_.set("execution_scope", is_group ? "group" : "private");
    answer_.set("sender_id", Tree::integer(sender));
    Tree user;
    if (!is_group) {
      user = Tree::integer(is_private ? number_or(query.user_id, sender) : settings.virtual_user);
    }
    answer_.set("user_id", std::move(user));
    answer_.set("group_id", Tree::integer(is_group ? number_or(query.group_id, 0) : 0));
    sender_.id = std::to_string(sender);
    sender_.scope = is_group ? CommandScope::group : CommandScope::private_chat;
    sender_.permission = permission_of(sender);
  }

  // The command's item, or nothing when it is not shown.
  [[nodiscard]] std::optional<Tree> item(const Command& command) const {
    if (!command.show_in_help && !has_hidden_) return std::nullopt;
    Tree subcommands = Tree::array();
    bool has_available = false;
    for (const Subcommand* subcommand : by_name(command.subcommands)) {
      const std::string_view reason =
          unavailable_reason(command, subcommand, sender_, settings_.policy);
      has_available = has_available || reason.empty();
      if (reason.empty() || has_unavailable_) {
        subcommands.push(subcommand_item(command, *subcommand, reason));
      }
    }
    const std::string_view reason = unavailable_reason(command, nullptr, sender_, settings_.policy);
    if (!reason.empty() && !has_available && !has_unavailable_) return std::nullopt;
    Tree made = Tree::object();
    made.set("name", command.name);
    made.set("trigger", command.trigger());
    made.set("description", command.description);
    made.set("usage", command.usage);
    made.set("example", command.example);
    set_access(made, command.access);
    made.set("show_in_help", Tree::flag(command.show_in_help));
    made.set("order", Tree::integer(command.order));
    made.set("aliases", texts(command.aliases));
    made.set("alias_triggers", texts(command.aliases, "/"));
    made.set("subcommands", std::move(subcommands));
    made.set("inference", inference_item(command.inference));
    set_availability(made, reason);
    return made;
  }

  // The answer with these commands.
  [[nodiscard]] Tree answer(Tree commands) const {
    Tree made = answer_;
    std::size_t aliases = 0;
    std::size_t subcommands = 0;
    for (const Tree& command : commands.items()) {
      aliases += command["aliases"].items().size();
      subcommands += command["subcommands"].items().size();
    }
    const auto count = [](std::size_t number) {
      return Tree::integer(static_cast<std::int64_t>(number));
    };
    const std::size_t total = commands.items().size();
    made.set("commands", std::move(commands));
    made.set("count", count(total));
    made.set("total", count(total));
    made.set("aliases", count(aliases));
    made.set("subcommands", count(subcommands));
    return made;
  }

 private:
  [[nodiscard]] Permission permission_of(std::int64_t sender) const {
    if (sender == settings_.superadmin) return Permission::superadmin;
    return settings_.permission_of ? settings_.permission_of(sender) : Permission::everyone;
  }

  static Tree subcommand_item(const Command& command, const Subcommand& subcommand,
                              std::string_view reason) {
    const std::string trigger = command.trigger() + " " + subcommand.name;
    Tree item = Tree::object();
    item.set("name", subcommand.name);
    item.set("trigger", trigger);
    item.set("description", subcommand.description);
    item.set("args", subcommand.arguments);
    item.set("usage",
             subcommand.arguments.empty() ? trigger : trigger + " " + subcommand.arguments);
    set_access(item, subcommand.access);
    set_availability(item, reason);
    return item;
  }

  const CatalogueSettings& settings_;
  bool has_hidden_;
  bool has_unavailable_;
  CommandSender sender_;
  Tree answer_;
};

bool contains(const Tree& item, std::string_view key, std::string_view wanted) {
  return find_folded(item[key].string(), wanted) != std::string::npos;
}

// Whether the text is in what the item shows.
bool matches(const Tree& item, std::string_view wanted) {
  for (const std::string_view key : {"name", "description", "usage"}) {
    if (contains(item, key, wanted)) return true;
  }
  for (const Tree& alias : item["aliases"].items()) {
    if (find_folded(alias.string(), wanted) != std::string::npos) return true;
  }
  for (const Tree& subcommand : item["subcommands"].items()) {
    for (const std::string_view key : {"name", "description", "args", "usage"}) {
      if (contains(subcommand, key, wanted)) return true;
    }
  }
  return false;
}

}  // namespace

Tree command_catalogue(const CommandRegistry& registry, const CatalogueQuery& query,
                       const CatalogueSettings& settings) {
  const Catalogue catalogue(query, settings);
  const std::string wanted = folded(json::trim(query.text));
  Tree commands = Tree::array();
  for (const auto& command : registry.all()) {
    auto item = catalogue.item(*command);
    if (item && (wanted.empty() || matches(*item, wanted))) commands.push(std::move(*item));
  }
  return catalogue.answer(std::move(commands));
}

std::optional<Tree> command_detail(const CommandRegistry& registry, std::string_view name,
                                   const CatalogueQuery& query, const CatalogueSettings& settings) {
  const std::string requested = lowered(json::trim(name));
  const auto command = registry.find(requested);
  if (command == nullptr) return std::nullopt;
  const Catalogue catalogue(query, settings);
  auto item = catalogue.item(*command);
  if (!item) return std::nullopt;
  Tree commands = Tree::array();
  commands.push(*item);
  Tree answer = catalogue.answer(std::move(commands));
  answer.set("command", std::move(*item));
  answer.set("requested_name", requested);
  return answer;
}

}  // namespace millrace::chat
