#include "base/read_float.hpp"

#include <locale.h>  // newlocale
#include <stdlib.h>  // strtod_l, strtold_l
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // the same on macOS and BSD
#endif

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/ascii.hpp"

namespace millrace {
namespace {

// Where the run of `digits` at `at` ends.
std::size_t end_of(std::string_view text, std::string_view digits, std::size_t at) {
  const std::size_t end = text.find_first_not_of(digits, at);
  return end == std::string_view::npos ? text.size() : end;
}

// How long the exponent at `at` is; an e that no digits follow is none.
std::size_t exponent_size(std::string_view text, std::size_t at) {
  if (at == text.size() || to_lower(text[at]) != 'e') return 0;
  std::size_t digits = at + 1;
  if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
  const std::size_t end = end_of(text, "0123456789", digits);
  return end == digits ? 0 : end - at;
}

// A locale whose decimal point is a point; never freed, as the process needs it to its end.
locale_t plain_locale() {
  static const locale_t value = newlocale(LC_ALL_MASK, "C", nullptr);
  return value;
}

// The C library's reader of a type, which takes hexadecimal digits behind 0x.
template <class Float, class Read>
std::from_chars_result read_by(Read read, std::string_view text, Float& value,
                               std::chars_format format) {
  const bool is_hex = format == std::chars_format::hex;
  const std::string_view digits = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t point = end_of(text, digits, sign);
  std::size_t end = point;
  if (point < text.size() && text[point] == '.') end = end_of(text, digits, point + 1);
  const std::string_view significand = text.substr(sign, end - sign);
  if (significand.empty() || significand == ".") {
    return {text.data(), std::errc::invalid_argument};
  }
  if (format == std::chars_format::general) end += exponent_size(text, end);

  std::string written(text.substr(0, end));
  if (is_hex) written.insert(sign, "0x");
  const Float number = read(written.c_str(), nullptr, plain_locale());
  const bool is_zero = significand.find_first_not_of("0.") == std::string_view::npos;
  if (!std::isfinite(number) || (number == 0 && !is_zero)) {
    return {text.data() + end, std::errc::result_out_of_range};
  }
  value = number;
  return {text.data() + end, std::errc()};
}

}  // namespace

std::from_chars_result read_float_portably(const char* first, const char* last, double& value,
                                           std::chars_format format) {
  return read_by(strtod_l, std::string_view(first, last), value, format);
}

std::from_chars_result read_float_portably(const char* first, const char* last, long double& value,
                                           std::chars_format format) {
  return read_by(strtold_l, std::string_view(first, last), value, format);
}

}  // namespace millrace
