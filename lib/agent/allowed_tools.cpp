#include "agent/allowed_tools.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "agent/state.hpp"
#include "agent/tool_names.hpp"

namespace millrace::agent {

using json::Tree;

bool is_allowed_call(const Tree& allowed, const Tree& call) {
  if (allowed.is_null()) return true;
  const std::string_view identifier = call["identifier"].string();
  const std::string_view api = call["apiName"].string();
  const std::string joined = joined_name(identifier, api);
  const std::string shown = shown_tool_name(identifier, api);
  const std::string typed_prefix = joined_name(joined, {});
  const std::string shown_prefix = joined_name(shown, {});
  return std::any_of(allowed.items().begin(), allowed.items().end(), [&](const Tree& entry) {
    const std::string_view name = entry.string();
    return name == joined || name.starts_with(typed_prefix) || name == shown ||
           name.starts_with(shown_prefix) || (identifier == api && name == api);
  });
}

Tree allowed_tools(const Tree& allowed, const Tree& tools) {
  if (allowed.is_null()) return tools;
  Tree remaining = Tree::array();
  for (const Tree& tool : tools.items()) {
    const Tree& function = tool["function"].is_object() ? tool["function"] : tool;
    Tree call = Tree::object();
    call.at("function").set("name", function["name"]);
    if (is_allowed_call(allowed, chat_tool_call(call))) remaining.push(tool);
  }
  return remaining;
}

}  // namespace millrace::agent
