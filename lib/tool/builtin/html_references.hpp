// The character references of HTML: those of its first versions, which are what pages are written
// with.
// Source: WHATWG HTML, "Named character references" and "Numeric character reference end state".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::tool {

// Units: bytes between "&" and ";". What is longer is no reference.
inline constexpr std::size_t html_reference_limit = 32;

// The code point of "#8364", "#x20AC" or a name; 0 when it is none.
char32_t code_point_of(std::string_view name);

// The text with its references replaced; those that are none stay as they are.
std::string with_characters(std::string_view text);

// The code point that HTML gives a byte of windows-1252, which is also what it means by the
// character references 128 to 159.
char32_t from_windows_1252(unsigned char byte);

}  // namespace millrace::tool
