// Base64 of RFC 4648, section 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::base64 {

std::string encode(std::string_view bytes);

// Takes padding or none and skips ASCII white space.
// Errors: nothing when a character or the length is wrong.
std::optional<std::string> decode(std::string_view text);

}  // namespace millrace::base64
