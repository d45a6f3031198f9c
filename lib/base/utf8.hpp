// UTF-8 by the rules of the WHATWG Encoding Standard, and the WTF-8 extension the engine uses
// inside.
//
// A lone surrogate can reach the engine only through a JSON escape. It is kept as the three bytes
// that UTF-8 would give it (WTF-8) until an encoder writes it: as U+FFFD, or as the same escape.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::utf8 {

// Length of the valid UTF-8 sequence at the start of `text`; 0 when it is malformed.
// Errors: surrogates, overlong forms and code points above U+10FFFF are malformed.
std::size_t sequence_length(std::string_view text);

// Number of bytes that one U+FFFD replaces at the start of a malformed `text` (maximal subpart
// rule).
std::size_t malformed_length(std::string_view text);

// True when `text` is well-formed UTF-8.
bool is_valid(std::string_view text);

// Appends `text` with each malformed subpart replaced by U+FFFD.
void append_replaced(std::string& out, std::string_view text);

// The code point of one valid sequence.
char32_t code_point(std::string_view sequence);

// Appends one code point; a surrogate gives its WTF-8 bytes.
void append_code_point(std::string& out, char32_t code_point);

// Bytes of an unfinished but so far valid sequence at the end of `text` (0 to 3).
std::size_t unfinished_tail(std::string_view text);

// True when `text` ends with, or begins with, a WTF-8 high (or low) surrogate.
bool ends_with_high_surrogate(std::string_view text);
bool begins_with_low_surrogate(std::string_view text);

inline constexpr std::size_t surrogate_bytes = 3;
inline constexpr std::string_view replacement = "\xEF\xBF\xBD";

// The code point of a WTF-8 surrogate pair, `high` and `low` being three bytes each.
char32_t join_surrogates(std::string_view high, std::string_view low);

// Joins a surrogate pair that two pieces of one text split between them. A high surrogate at the
// end of `piece` stays in `held` until the next piece; gives what can be written now.
// Lifetime: the result views `piece` or `scratch`.
std::string_view join_split_pair(std::string& held, std::string_view piece, std::string& scratch);

// The UTF-16 code units of UTF-8 or WTF-8, which is how JavaScript counts text.
std::u16string to_utf16(std::string_view text);

// Number of UTF-16 code units of valid UTF-8.
std::size_t utf16_length(std::string_view text);

}  // namespace millrace::utf8
