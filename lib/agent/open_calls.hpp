// Calls that wait for approval, as the rows of a conversation show them.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// Those of the last turn that called tools.
json::Tree open_calls(const json::Tree& messages);

// Those of all turns.
json::Tree all_open_calls(const json::Tree& messages);

}  // namespace millrace::agent
