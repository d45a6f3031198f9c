// Tools that a vendor defines and the host runs: the model knows them by their type, and no schema
// of theirs is sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::message {

enum class ToolVendor : std::uint8_t { openai, anthropic };

// What the vendor takes as the result of a call.
enum class VendorResult : std::uint8_t {
  screenshot,  // one image
  shell,       // a list of {stdout, stderr, outcome}
  text,
  patch,   // a text, and whether it failed
  blocks,  // a text, or texts and images
};

// Lifetime: of the program.
struct VendorTool {
  ToolVendor vendor;
  std::string_view type;  // as a tool has it, or as it begins: a date follows
  bool is_dated;
  std::string_view name;  // of the calls; "" where the tool says it
  VendorResult result;
};

// The row of a tool's type, or nullptr. A family has dates that are not known here as well.
const VendorTool* find_vendor_tool(std::string_view type);

// The name of the vendor as people read it.
std::string_view name_of(ToolVendor vendor);

// The name under which a model calls the tool; "" where the object is none of these tools, or has
// no name.
std::string_view call_name_of(const json::Tree& tool);

// The same of an object that must be one.
// Errors: invalid_option.
Result<std::string> vendor_tool_name(const json::Tree& tool);

}  // namespace millrace::message
