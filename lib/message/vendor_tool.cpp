#include "message/vendor_tool.hpp"

#include <algorithm>
#include <array>

#include "base/shown.hpp"

namespace millrace::message {
namespace {

using enum ToolVendor;

// Source: OpenAI API reference, Responses, "tools" (2026); Anthropic API reference, Messages,
// "tools" (2026).
constexpr std::array tools{
    VendorTool{openai, "computer_use_preview", false, "computer", VendorResult::screenshot},
    VendorTool{openai, "computer", false, "computer", VendorResult::screenshot},
    VendorTool{openai, "shell", false, "shell", VendorResult::shell},
    VendorTool{openai, "local_shell", false, "local_shell", VendorResult::text},
    VendorTool{openai, "apply_patch", false, "apply_patch", VendorResult::patch},
    VendorTool{anthropic, "bash_", true, "", VendorResult::blocks},
    VendorTool{anthropic, "text_editor_", true, "", VendorResult::blocks},
    VendorTool{anthropic, "computer_", true, "", VendorResult::blocks},
    VendorTool{anthropic, "memory_", true, "", VendorResult::blocks},
};

bool is_date(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

bool is_of(const VendorTool& row, std::string_view type) {
  if (!row.is_dated) return type == row.type;
  return type.starts_with(row.type) && is_date(type.substr(row.type.size()));
}

std::string known_types() {
  std::string list;
  for (const VendorTool& row : tools) {
    if (!list.empty()) list.append(", ");
    list.append(row.type).append(row.is_dated ? "<date>" : "");
  }
  return list;
}

}  // namespace

const VendorTool* find_vendor_tool(std::string_view type) {
  const auto* row =
      std::find_if(tools.begin(), tools.end(), [&](const VendorTool& t) { return is_of(t, type); });
  return row == tools.end() ? nullptr : row;
}

std::string_view name_of(ToolVendor vendor) {
  return vendor == openai ? "OpenAI" : "Anthropic";
}

std::string_view call_name_of(const json::Tree& tool) {
  const VendorTool* row = find_vendor_tool(tool["type"].string());
  if (row == nullptr) return {};
  return row->name.empty() ? tool["name"].string() : row->name;
}

Result<std::string> vendor_tool_name(const json::Tree& tool) {
  if (!tool.is_object()) {
    return make_error(Errc::invalid_option,
                      "`vendor` must be the vendor's tool object, as { type: 'bash_20250124', "
                      "name: 'bash' }, not " +
                          shown_value(tool) + ".");
  }
  const json::Tree& type = tool["type"];
  if (find_vendor_tool(type.string()) == nullptr) {
    return make_error(Errc::invalid_option,
                      "`vendor.type` must be one of " + known_types() + ", not " +
                          (type.is_null() ? std::string("missing") : shown_value(type)) + ".");
  }
  const std::string_view name = call_name_of(tool);
  if (name.empty()) {
    return make_error(Errc::invalid_option, "`vendor.name` is missing: Anthropic's tool " +
                                                std::string(type.string()) +
                                                " is called by its name.");
  }
  return std::string(name);
}

}  // namespace millrace::message
