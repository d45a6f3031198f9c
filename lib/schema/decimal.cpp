#include "schema/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace millrace::schema {
namespace {

// Beyond this, exponents only tell "huge" from "tiny".
constexpr std::int64_t exponent_limit = 1'000'000'000;
// Zeros that are put behind a dividend one at a time.
constexpr std::int64_t zeros_limit = 5'000;
// Digits of a divisor that leave room for one more in 64 bits.
constexpr std::size_t divisor_digits = 18;

std::int64_t read_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > exponent_limit) value = exponent_limit;
  return negative ? -value : value;
}

int compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.is_zero() || b.is_zero())
    return static_cast<int>(b.is_zero()) - static_cast<int>(a.is_zero());
  const auto order_a = static_cast<std::int64_t>(a.digits.size()) + a.exponent;
  const auto order_b = static_cast<std::int64_t>(b.digits.size()) + b.exponent;
  if (order_a != order_b) return order_a < order_b ? -1 : 1;
  return a.digits.compare(b.digits);
}

}  // namespace

std::string Decimal::text() const {
  if (digits.empty()) return "0";
  return (negative ? "-" : "") + digits + "e" + std::to_string(exponent);
}

std::optional<std::size_t> Decimal::count() const {
  if (digits.empty()) return 0;
  if (negative || exponent < 0 || exponent > 18) return std::nullopt;
  const std::string whole = digits + std::string(static_cast<std::size_t>(exponent), '0');
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

Decimal read_decimal(std::string_view text) {
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.remove_prefix(1);
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    decimal.exponent = read_exponent(text.substr(e + 1));
    text = text.substr(0, e);
  }
  const std::size_t point = text.find('.');
  decimal.digits.assign(text.substr(0, point));
  if (point != std::string_view::npos) {
    const std::string_view fraction = text.substr(point + 1);
    decimal.digits.append(fraction);
    decimal.exponent -= static_cast<std::int64_t>(fraction.size());
  }
  decimal.digits.erase(0, std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size()));
  while (decimal.digits.ends_with('0')) {
    decimal.digits.pop_back();
    ++decimal.exponent;
  }
  if (decimal.digits.empty()) decimal = {};
  return decimal;
}

int compare(const Decimal& a, const Decimal& b) {
  const int sign_a = a.is_zero() ? 0 : (a.negative ? -1 : 1);
  const int sign_b = b.is_zero() ? 0 : (b.negative ? -1 : 1);
  if (sign_a != sign_b) return sign_a < sign_b ? -1 : 1;
  return sign_a < 0 ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

bool is_multiple(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return true;
  // A multiple of digits * 10^e has no digit below 10^e.
  if (a.exponent < b.exponent) return false;
  const std::int64_t zeros = a.exponent - b.exponent;
  if (b.digits.size() > divisor_digits || zeros > zeros_limit) {
    return compare_magnitudes(a, b) == 0;
  }
  std::uint64_t divisor = 0;
  std::from_chars(b.digits.data(), b.digits.data() + b.digits.size(), divisor);
  std::uint64_t rest = 0;
  for (const char digit : a.digits) {
    rest = (rest * 10 + static_cast<std::uint64_t>(digit - '0')) % divisor;
  }
  for (std::int64_t i = 0; i < zeros && rest != 0; ++i) rest = rest * 10 % divisor;
  return rest == 0;
}

}  // namespace millrace::schema
