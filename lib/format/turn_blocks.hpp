// Blocks of a provider that are of a turn itself, and never of a part of a message.
#pragma once

#include <string_view>

#include "base/json.hpp"

namespace millrace::format {

// Whether the block is a call, a result, reasoning or a change of the tools. Only messages and
// calls of a conversation give these. A client can write any block into a part, so a part may hold
// none.
bool is_of_turn(const json::Value& block, std::string_view provider);

}  // namespace millrace::format
