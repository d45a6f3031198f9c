// What the parts of the JSON reader share: RapidJSON with its settings, and the pass that makes
// bytes safe for it. Private to json*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#elif defined(__ARM_NEON)
#define RAPIDJSON_NEON
#endif
// RapidJSON 1.1.0 asserts on misuse; the reader is used by json*.cpp alone and cannot be misused
// from outside.
#include <rapidjson/encodings.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stream.h>

#if defined(__SSE2__)
#include <emmintrin.h>

// The stream that is parsed in place. RapidJSON's own goes byte by byte to the next address that
// its blocks are aligned to, which in short strings, as keys are, is all of the way. A string
// begins with PutBegin: there this one skips what is neither a quote, an escape nor a control
// character.
// Lifetime: behind the text are as many bytes as a block has.
template <>
struct rapidjson::GenericInsituStringStream<rapidjson::UTF8<>> {
  using Ch = char;

  explicit GenericInsituStringStream(char* text) : src_(text), head_(text) {}

  [[nodiscard]] char Peek() const { return *src_; }
  char Take() { return *src_++; }
  [[nodiscard]] std::size_t Tell() const { return static_cast<std::size_t>(src_ - head_); }

  void Put(char c) { *dst_++ = c; }
  char* PutBegin() {
    char* const begin = src_;
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1F);
    for (;; src_ += sizeof(__m128i)) {
      const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src_));
      const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
      const __m128i marks =
          _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
      const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(marks, control)));
      if (found == 0) continue;
      src_ += __builtin_ctz(found);
      break;
    }
    dst_ = src_;
    return begin;
  }
  std::size_t PutEnd(const char* begin) const { return static_cast<std::size_t>(dst_ - begin); }
  void Flush() {}
  char* Push(std::size_t count) {
    dst_ += count;
    return dst_ - count;
  }
  void Pop(std::size_t count) { dst_ -= count; }

  // Named so for the reader.
  char* src_;
  char* dst_ = nullptr;
  char* head_;
};
#endif

#include <rapidjson/reader.h>

namespace millrace::json::detail {

template <class Handler>
rapidjson::ParseResult read_in_place(char* text, Handler& handler) {
  constexpr unsigned flags = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>> reader;
  rapidjson::InsituStringStream stream(text);
  return reader.Parse<flags>(stream, handler);
}

// What append_safely made of the bytes.
enum class Copied : std::uint8_t { unchanged, mended, has_control };

// Appends `text` and the padding that RapidJSON's blocks need, malformed UTF-8 as U+FFFD and lone
// surrogate escapes as WTF-8. NUL and U+001A to U+001F are in no JSON; of the latter
// RapidJSON 1.1.0 would pass over those that stand in a long string.
Copied append_safely(std::string& out, std::string_view text);

}  // namespace millrace::json::detail
