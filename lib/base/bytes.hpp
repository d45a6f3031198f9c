// Comparing short runs of bytes in line, where a call of memcmp costs more than the comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace {

namespace detail {
template <class Word>
bool same_ends(const char* a, const char* b, std::size_t size) {
  const auto load = [](const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));
    return word;
  };
  const std::size_t last = size - sizeof(Word);
  return load(a) == load(b) && load(a + last) == load(b + last);
}

#if defined(__SSE2__)
inline bool same_block(const char* a, const char* b) {
  const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(left, right)) == 0xFFFF;
}
#endif
}  // namespace detail

// True when `size` bytes are equal.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
#if defined(__SSE2__)
  if (size >= sizeof(__m128i) && size <= 2 * sizeof(__m128i)) {
    return detail::same_block(a, b) &&
           detail::same_block(a + (size - sizeof(__m128i)), b + (size - sizeof(__m128i)));
  }
#endif
  if (size > 2 * sizeof(std::uint64_t)) return std::memcmp(a, b, size) == 0;
  if (size >= sizeof(std::uint64_t)) return detail::same_ends<std::uint64_t>(a, b, size);
  if (size >= sizeof(std::uint32_t)) return detail::same_ends<std::uint32_t>(a, b, size);
  if (size >= sizeof(std::uint16_t)) return detail::same_ends<std::uint16_t>(a, b, size);
  return size == 0 || *a == *b;
}

inline bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

}  // namespace millrace
