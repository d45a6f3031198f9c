#include "chat/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::chat {
namespace {

TEST(Text, WritesTimesAtADistanceFromUtc) {
  EXPECT_EQ(time_text(1'795'293'874'684, 0), "2026-11-21 20:44:34");
  EXPECT_EQ(time_text(1'795'293'874'684, 60, 'T'), "2026-11-21T21:44:34");
  EXPECT_EQ(time_text(-1, -90), "1969-12-31 22:29:59");
  EXPECT_EQ(time_text(INT64_MAX, 0), "9999-12-31 23:59:59");
}

TEST(Text, CollapsesWhatUnicodeCallsWhiteSpace) {
  EXPECT_EQ(collapsed("\xE3\x80\x80 a\xC2\xA0\r\n\xE2\x80\x83"
                      "b \x1c"),
            "a b");
  EXPECT_EQ(first_characters("aä漢字", 3), "aä漢");
  EXPECT_EQ(first_characters("", 3), "");
}

TEST(Text, KnowsLettersOfAnyScript) {
  for (const std::string_view character : {"a", "7", "ä", "漢", "ж", "٣"}) {
    EXPECT_TRUE(is_letter_or_digit(character)) << character;
  }
  for (const std::string_view character : {"-", "_", " ", "。", "😀", "\xFF", ""}) {
    EXPECT_FALSE(is_letter_or_digit(character)) << character;
  }
  EXPECT_EQ(first_character("漢字"), "漢");
  EXPECT_EQ(first_character("\xFFx"), "\xFF");
}

TEST(Text, GivesLines) {
  std::vector<std::string> lines;
  for_each_line("a\r\n\nb", [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "b"}));
}

}  // namespace
}  // namespace millrace::chat
