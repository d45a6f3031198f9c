// The name of a list of AnswerFacts.
#pragma once

#include <string_view>

namespace millrace::adapter {

// What stood beside others of the same meaning, or behind the end of the answer.
inline constexpr std::string_view skipped_members = "skippedMembers";

}  // namespace millrace::adapter
