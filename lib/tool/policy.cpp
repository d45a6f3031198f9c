#include "tool/policy.hpp"

#include <algorithm>
#include <utility>

#include "tool/builtin/options.hpp"

namespace millrace::tool {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  while (!pattern.empty() && pattern.front() != '*') {
    if (name.empty() || name.front() != pattern.front()) return false;
    pattern.remove_prefix(1);
    name.remove_prefix(1);
  }
  if (pattern.empty()) return name.empty();
  // The pieces between the stars, each where it first fits.
  while (true) {
    pattern.remove_prefix(std::min(pattern.find_first_not_of('*'), pattern.size()));
    if (pattern.empty()) return true;
    const std::size_t star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    if (star == std::string_view::npos) return name.ends_with(piece);
    const std::size_t found = name.find(piece);
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + piece.size());
    pattern.remove_prefix(star);
  }
}

bool is_listed(const std::vector<std::string>& patterns,
               const std::vector<std::string_view>& names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches(pattern, name); });
  });
}

}  // namespace

Result<ToolPolicy> read_policy(const json::Tree& options) {
  auto allow = read_names(options, "allow");
  if (!allow) return std::move(allow).error();
  auto expose = read_names(options, "expose");
  if (!expose) return std::move(expose).error();
  auto deny = read_names(options, "deny");
  if (!deny) return std::move(deny).error();
  ToolPolicy policy;
  const bool is_allowed = !allow.value().empty();
  policy.has_allow = is_allowed || options["expose"].is_array();
  policy.allow = is_allowed ? std::move(allow).value() : std::move(expose).value();
  policy.deny = std::move(deny).value();
  return policy;
}

bool allows(const ToolPolicy& policy, std::initializer_list<std::string_view> names) {
  return allows(policy, std::vector<std::string_view>(names));
}

bool allows(const ToolPolicy& policy, const std::vector<std::string_view>& names) {
  if (is_listed(policy.deny, names)) return false;
  return !policy.has_allow || is_listed(policy.allow, names);
}

Registry exposed(const Registry& registry, const ToolPolicy& policy) {
  Registry result;
  for (const auto& [name, entry] : registry.entries()) {
    // What was in one registry can be in another.
    if (allows(policy, {name})) static_cast<void>(result.add(entry.tool).ok());
  }
  return result;
}

}  // namespace millrace::tool
