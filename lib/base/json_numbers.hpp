// Numbers that are valid JSON but larger than RapidJSON takes: 1e400, or 400 digits.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace millrace::json {

// Where a number was hidden -> its text.
using HiddenNumbers = std::map<std::size_t, std::string>;

// Replaces each such number outside strings by 0 and spaces, and tells what stood there.
HiddenNumbers hide_large_numbers(std::string& text);

}  // namespace millrace::json
