// What the parts of the JSON reader share: RapidJSON with its settings, and the pass that makes
// bytes safe for it. Private to json*.cpp.
#pragma once

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
#include <rapidjson/error/en.h>
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
