// How a model is told the name of a plugin and that of its function as one.
#pragma once

#include <string_view>

namespace millrace {

// Stands between the two; no tool has it in its name.
inline constexpr std::string_view tool_name_separator = "____";

}  // namespace millrace
