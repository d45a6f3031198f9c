// Reads a floating number at the beginning of a text, the same with every standard library and in
// every locale: libc++ 19 has no std::from_chars of one.
#pragma once

#include <charconv>
#include <concepts>
#include <system_error>
#include <version>

namespace millrace {

// By the C library. It reads exactly what std::from_chars does; tests hold one against the other.
std::from_chars_result read_float_portably(const char* first, const char* last, double& value,
                                           std::chars_format format);
std::from_chars_result read_float_portably(const char* first, const char* last, long double& value,
                                           std::chars_format format);

// As std::from_chars, but only digits make a number: "inf" and "nan" are none.
// Shape: `format` is general, fixed or hex.
// Errors: invalid_argument, or result_out_of_range for what no finite number is near, other than zero;
// `value` is then as it was.
template <std::floating_point Float>
std::from_chars_result read_float(const char* first, const char* last, Float& value,
                                  std::chars_format format = std::chars_format::general) {
#ifdef __cpp_lib_to_chars
  const char* const digits = first != last && *first == '-' ? first + 1 : first;
  const bool is_word = digits != last && ((*digits | 0x20) == 'i' || (*digits | 0x20) == 'n');
  if (is_word) return {first, std::errc::invalid_argument};
  return std::from_chars(first, last, value, format);
#else
  return read_float_portably(first, last, value, format);
#endif
}

}  // namespace millrace
