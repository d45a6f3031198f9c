// JSON text that is the same for equal values, whatever the order of their members.
#pragma once

#include <string>

#include "base/json_tree.hpp"

namespace millrace::json {

// Members sorted by the bytes of their keys; numbers as they stand.
std::string canonical_json(const Tree& value);

}  // namespace millrace::json
