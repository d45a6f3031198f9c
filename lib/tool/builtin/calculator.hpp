// Arithmetic on an expression, by a grammar of its own: nothing is evaluated but numbers.
//
//   sum      = product { ("+" | "-") product }
//   product  = signed { ("*" | "/" | "%") signed }
//   signed   = { "+" | "-" } power
//   power    = atom [ ("^" | "**") signed ]          right to left, before a sign on its left
//   atom     = number | constant | function "(" sum { "," sum } ")" | "(" sum ")"
//   number   = digits [ "." digits ] [ ("e" | "E") [ "+" | "-" ] digits ], "." digits, "0x" hex
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::tool {

// The value of an expression with 15 significant digits, whole numbers below 2^63 exactly.
// Errors: invalid_argument naming the place; for more than 1,000 bytes or 64 levels, for a division
// by zero and for what is no finite number as well.
Result<std::string> calculate(std::string_view expression);

}  // namespace millrace::tool
