// What no tool may do without approval: the default security blacklist and the questions it asks of
// a shell command or a path.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "agent/shell/shell.hpp"

namespace millrace::agent {

struct BlacklistRow {
  std::string_view name;  // of the predicate, and the last part of the description
  bool hard = false;      // policy always: no mode overrides it
  bool (*command)(std::span<const ShellCommand> commands, std::string_view text) = nullptr;
  bool (*path)(std::string_view path) = nullptr;
};

// Source: the categories of LobeHub's default blacklist, 2026.
std::span<const BlacklistRow> blacklist_rows();

// The row of this name, or of the name that LobeHub has for the predicate, or nothing.
const BlacklistRow* find_blacklist_row(std::string_view name);

// The default blacklist as JSON rules `{description, match, policy?}`.
// Lifetime: static.
std::string_view default_blacklist_json();

}  // namespace millrace::agent
