// Text of strangers as people and terminals may read it.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The text without what controls a terminal or hides text: terminal sequences, control characters
// but line ends and tabs, and characters that turn the direction of writing or cannot be seen.
// Malformed UTF-8 becomes U+FFFD, and lines end in one way.
std::string visible_text(std::string_view text);

}  // namespace millrace
