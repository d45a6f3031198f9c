// The time that a shape takes against its size.
#pragma once

#include <string>

#include "base/json_tree.hpp"

namespace millrace::fuzz {

// Says how much longer a text of this shape takes that is four times as long, or "" where it takes
// about four times as long. Work that grows with the square takes sixteen times as much.
//
// The time is that of the thread's own work, so that a busy machine changes little; what looks too
// long is measured again.
std::string excess_of(const json::Tree& shape);

}  // namespace millrace::fuzz
