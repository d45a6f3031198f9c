// What reading and writing of Cohere's messages share.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"

namespace millrace::format::cohere {

inline constexpr std::string_view provider = "cohere";
// State: of reasoning whether it is a plan of calls or thinking, of a message its further members
// and the list that its content came as.
inline constexpr std::string_view plan_kind = "tool_plan";
inline constexpr std::string_view thinking_kind = "thinking";
inline constexpr std::string_view members_kind = "message";
inline constexpr std::string_view content_kind = "content";
// Of a call: its further members, and those of its function.
inline constexpr std::string_view call_kind = "call";
inline constexpr std::string_view function_kind = "function";

// A tool's content may be a list of documents.
std::string tool_text(const json::Value& content);
// The reasoning in the list of an answer.
std::string thinking_of(const json::Value& content);

}  // namespace millrace::format::cohere
