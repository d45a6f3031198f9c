// Which of the tools there are an agent gets to see.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "tool/registry.hpp"

namespace millrace::tool {

// Patterns of names, `*` for any run of characters. A denied name is denied, whatever allows it.
struct ToolPolicy {
  bool has_allow = false;  // without a list every name that is not denied is allowed
  std::vector<std::string> allow;
  std::vector<std::string> deny;
};

// "allow", "expose", "deny": [pattern]. A list of `allow` that names anything counts alone;
// `expose` only without it.
// Errors: invalid_option.
Result<ToolPolicy> read_policy(const json::Tree& options);

// A tool that goes by several names is denied by any of them, and allowed by any.
bool allows(const ToolPolicy& policy, std::initializer_list<std::string_view> names);
bool allows(const ToolPolicy& policy, const std::vector<std::string_view>& names);

// The tools of a registry that a policy lets through.
Registry exposed(const Registry& registry, const ToolPolicy& policy);

}  // namespace millrace::tool
