// What a tool's result looks like to a model: bounded, without bytes that control terminals or hide
// text, and without marks by which a model tells who is speaking.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::tool {

// Units: bytes.
inline constexpr std::size_t result_limit_bytes = std::size_t{256} << 10U;

// Makes foreign text safe to stand in a conversation as data. Malformed UTF-8 becomes U+FFFD;
// terminal sequences, control characters but line ends and tabs, and characters that turn the
// direction of writing or cannot be seen are taken out; marks of roles and of tool calls are
// broken up, so that they can be read but not obeyed. What is longer than `limit` ends in a line
// that says how much is missing; what such a line at the text's own end tells of counts as well.
std::string result_text(std::string_view text, std::size_t limit = result_limit_bytes);

}  // namespace millrace::tool
