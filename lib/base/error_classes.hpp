// What is known of the classes of errors besides their numbers and statuses (error_classes.def).
#pragma once

#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace millrace {

// True where the detail of its errors is for the host program and its log alone.
bool has_private_detail(ErrorType type);

// The class of this name, or of this older name; nothing when there is none.
std::optional<ErrorType> error_type_of(std::string_view name);

}  // namespace millrace
