// Reasoning that its provider did not sign: the state { provider: "bedrock", kind: "unsigned",
// json: "true" } of a reasoning message names the wire that it came on. Without it nothing would
// say who may read it again: a signature names its provider by itself.
#pragma once

#include <string_view>

namespace millrace::event {

inline constexpr std::string_view unsigned_kind = "unsigned";

}  // namespace millrace::event
