// Which of the tools there are an agent gets to see.
#pragma once

#include <initializer_list>
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

// A tool that goes by several names is denied by any of them, and allowed by any.
bool allows(const ToolPolicy& policy, std::initializer_list<std::string_view> names);

// The tools of a registry that a policy lets through.
Registry exposed(const Registry& registry, const ToolPolicy& policy);

}  // namespace millrace::tool
