// Exact arithmetic on JSON numbers as they were written: bounds and multiples must not depend on
// how a double rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::schema {

// digits * 10^exponent, without zeros at either end of the digits; zero has none.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;

  [[nodiscard]] bool is_zero() const { return digits.empty(); }
  [[nodiscard]] bool is_integer() const { return digits.empty() || exponent >= 0; }
  // The same text for equal numbers.
  [[nodiscard]] std::string text() const;
  // The number when it is an integer from 0 up that fits.
  [[nodiscard]] std::optional<std::size_t> count() const;
};

// `text` is a number by JSON's grammar.
Decimal read_decimal(std::string_view text);

// Below 0, 0 or above 0, as `a` is less than, equal to or more than `b`.
int compare(const Decimal& a, const Decimal& b);

// Whether a / b is an integer; b is not zero.
bool is_multiple(const Decimal& a, const Decimal& b);

}  // namespace millrace::schema
