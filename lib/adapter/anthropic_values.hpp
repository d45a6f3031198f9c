// Single values in the records of Anthropic's Messages API.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace millrace::adapter {

// Names its states.
inline constexpr std::string_view anthropic_provider = "anthropic";
// The tracker's key of the reasoning part that is open.
inline constexpr std::string_view thinking_key = "thinking";

// The sentence for a stop reason that means the answer is not whole, or nothing.
std::optional<std::string_view> anthropic_sentence(std::string_view reason);

// A block without the members named in `left_out`.
std::string block_without(const json::Value& block,
                          std::initializer_list<std::string_view> left_out);

// The content of a result as text: a string, the joined texts of a list of texts, else JSON.
std::string result_content(const json::Value& content);
// Whether that text leaves out that it was a list: where one text ends, and members of them.
bool is_joined_content(const json::Value& content);

}  // namespace millrace::adapter
