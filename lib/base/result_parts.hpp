// Where the result of a tool holds content parts (images), which a model is shown in place of its
// text.
#pragma once

#include <string_view>

namespace millrace {

inline constexpr std::string_view result_parts_member = "$contentParts";

}  // namespace millrace
