// What a tool that a vendor defines returned, in the shape that the row of its result has for every
// provider: a text, and images as content parts.
#pragma once

#include <cstddef>

#include "base/json_tree.hpp"
#include "message/vendor_tool.hpp"
#include "tool/spec.hpp"
#include "tool/tool.hpp"

namespace millrace::run {

// Units: bytes, of the images of one result.
inline constexpr std::size_t most_image_bytes = std::size_t{8} << 20U;

// Shape: of every tool a text, or { content: text or blocks, is_error? }, or blocks: texts and
// images as the vendors write them. An image alone is { image } or { image_url }, an address or a
// `data:` URL, or { type: "computer_screenshot", image_url or file_id }. A shell's is one or a list
// of { stdout, stderr, outcome } or { exit_code }, a patch's { status, output }. Other values are
// their JSON.
// Errors: an outcome that failed (tool_failed) where a computer gave no image.
tool::ToolOutcome vendor_outcome(const tool::Spec& spec, const json::Tree& value);

}  // namespace millrace::run
