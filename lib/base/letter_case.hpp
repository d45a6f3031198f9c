// Letters of every script in one case, for searches in texts of people. Names of protocols are
// ASCII's: base/ascii.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// The text with one letter for those that differ in case alone. It may have another length.
// Source: Unicode 17, simple case folding, without the letters that only Turkish has.
std::string folded(std::string_view text);

// Where `text` has what is `wanted`, which is folded; std::string::npos where it does not.
// Units: bytes of `text`, at the start of a letter.
std::size_t find_folded(std::string_view text, std::string_view wanted);

}  // namespace millrace
