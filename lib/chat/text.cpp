#include "chat/text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <vector>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "schema/unicode.hpp"

namespace millrace::chat {
namespace {

constexpr bool is_ascii_blank(unsigned char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

constexpr auto wide_spaces = std::to_array<std::string_view>(
    {"\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF",
     "\xE2\x81\x9F", "\xE3\x80\x80"});

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

bool is_within(const std::optional<std::vector<schema::CodePoints>>& ranges, char32_t code) {
  if (!ranges) return false;
  const auto above = std::upper_bound(
      ranges->begin(), ranges->end(), code,
      [](char32_t one, const schema::CodePoints& range) { return one < range.first; });
  return above != ranges->begin() && code <= std::prev(above)->last;
}

}  // namespace

std::size_t space_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return is_ascii_blank(first) ? 1 : 0;
  // U+2000 to U+200A.
  if (text.size() >= 3 && text.starts_with("\xE2\x80") &&
      static_cast<unsigned char>(text[2]) >= 0x80 && static_cast<unsigned char>(text[2]) <= 0x8A) {
    return 3;
  }
  for (const std::string_view space : wide_spaces) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

std::string collapsed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool is_behind_space = false;
  while (!text.empty()) {
    const std::size_t space = space_length(text);
    if (space > 0) {
      is_behind_space = true;
      text.remove_prefix(space);
      continue;
    }
    if (is_behind_space && !out.empty()) out.push_back(' ');
    is_behind_space = false;
    out.push_back(text.front());
    text.remove_prefix(1);
  }
  return out;
}

std::string_view first_characters(std::string_view text, std::size_t limit) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (begins_character(text[at]) && ++count > limit) return text.substr(0, at);
  }
  return text;
}

std::string cut(std::string_view text, std::size_t limit) {
  const std::string_view first = first_characters(text, limit);
  std::string out(first);
  if (first.size() < text.size()) out.append("...");
  return out;
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(1, utf8::sequence_length(text)));
}

bool is_letter_or_digit(std::string_view character) {
  if (character.size() == 1) return is_ascii_alphanumeric(character.front());
  static const auto letters = schema::code_points_of("L", false);
  static const auto digits = schema::code_points_of("Nd", false);
  if (character.empty() || utf8::sequence_length(character) != character.size()) return false;
  const char32_t code = utf8::code_point(character);
  return is_within(letters, code) || is_within(digits, code);
}

std::string time_text(std::int64_t at_ms, std::int64_t utc_offset_minutes, char separator) {
  // Years of four digits.
  constexpr std::int64_t first_second = -62'167'219'200;
  constexpr std::int64_t last_second = 253'402'300'799;
  const auto millis = std::chrono::milliseconds(at_ms);
  const std::int64_t second = std::clamp<std::int64_t>(
      std::chrono::floor<std::chrono::seconds>(millis).count() + utc_offset_minutes * 60,
      first_second, last_second);
  const std::chrono::sys_seconds at{std::chrono::seconds(second)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  std::array<char, 32> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02u%c%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), separator,
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace millrace::chat
