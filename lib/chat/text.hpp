// White space and characters of texts that are shown: a character is a code point here, white space
// what Unicode calls so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::chat {

// Bytes of the white space at the start of `text`; 0 when there is none.
std::size_t space_length(std::string_view text);

// Each run of white space as one blank, none at the ends.
std::string collapsed(std::string_view text);

// At most the first `limit` characters.
std::string_view first_characters(std::string_view text, std::size_t limit);

// The first `limit` characters, with "..." behind them where there are more.
std::string cut(std::string_view text, std::size_t limit);

// The first character of `text`, which is not empty; a malformed byte is one.
std::string_view first_character(std::string_view text);

// True for a letter or digit of any script.
bool is_letter_or_digit(std::string_view character);

// The lines of `text` one after the other, without their ends.
template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    take(line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// A date and time as "YYYY-MM-DD HH:MM:SS", `separator` between the two, at this distance from UTC.
std::string time_text(std::int64_t at_ms, std::int64_t utc_offset_minutes, char separator = ' ');

}  // namespace millrace::chat
