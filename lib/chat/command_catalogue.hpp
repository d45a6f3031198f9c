// The commands as the API lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/json_tree.hpp"
#include "chat/command_dispatch.hpp"
#include "chat/command_registry.hpp"

namespace millrace::chat {

// The ids of the scopes.
struct CatalogueSettings {
  std::int64_t superadmin = 10001;
  std::int64_t virtual_user = 42;
  std::function<Permission(std::int64_t)> permission_of = {};  // none: everyone but the superadmin
  CommandPolicy policy = {};
};

// As a query has it. What is no number counts as none.
struct CatalogueQuery {
  std::string_view scope;  // webui, private or group; anything else is webui
  std::string_view text;   // `q`
  std::string_view include_hidden;
  std::string_view include_unavailable;
  std::string_view sender_id;
  std::string_view user_id;
  std::string_view group_id;
};

// Shape: {scope, execution_scope, sender_id, user_id, group_id, commands, count, total, aliases,
// subcommands}.
json::Tree command_catalogue(const CommandRegistry& registry, const CatalogueQuery& query,
                             const CatalogueSettings& settings);

// The same with one command, `command` and `requested_name`; nothing when there is none that the
// query may see.
std::optional<json::Tree> command_detail(const CommandRegistry& registry, std::string_view name,
                                         const CatalogueQuery& query,
                                         const CatalogueSettings& settings);

}  // namespace millrace::chat
