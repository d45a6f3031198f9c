// Properties of code points, as `\p{...}` of regular expressions names them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace millrace::schema {

struct CodePoints {
  char32_t first;
  char32_t last;
};

// The code points of a property, in order, or all others: a general category by its short or long
// name ("L", "Lu", "Letter", "gc=Nd", "General_Category=Decimal_Number"), Any or ASCII. Nothing for
// a property that is not known here.
std::optional<std::vector<CodePoints>> code_points_of(std::string_view property, bool others);

}  // namespace millrace::schema
