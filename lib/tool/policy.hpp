// Which of the tools there are an agent gets to see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tool/registry.hpp"

namespace millrace::tool {

// Patterns of names, `*` for any run of characters. A denied name is denied, whatever allows it.
struct ToolPolicy {
  bool has_allow = false;  // without a list every name that is not denied is allowed
  std::vector<std::string> allow;
  std::vector<std::string> deny;
};

bool allows(const ToolPolicy& policy, std::string_view name);

// The tools of a registry that a policy lets through.
Registry exposed(const Registry& registry, const ToolPolicy& policy);

}  // namespace millrace::tool
