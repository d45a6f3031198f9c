#include "base/utf8.hpp"

#include <gtest/gtest.h>

using namespace millrace;

TEST(Utf8, ReplacesMaximalSubparts) {
  const auto replaced = [](std::string_view text) {
    std::string out;
    utf8::append_replaced(out, text);
    return out;
  };
  const std::string r(utf8::replacement);
  EXPECT_EQ(replaced("a\x80z"), "a" + r + "z");
  EXPECT_EQ(replaced("\xF0\x9F\x98"), r);
  EXPECT_EQ(replaced("\xF0\x80\x80"), r + r + r);
  EXPECT_EQ(replaced("\xE2\x82"
                     "x"),
            r + "x");
  EXPECT_EQ(replaced("\xC0\xAF"), r + r);
  EXPECT_EQ(replaced("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(replaced("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(replaced("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

TEST(Utf8, FindsAMalformedByteAnywhere) {
  for (std::size_t size = 0; size < 24; ++size) {
    std::string text(size, 'a');
    EXPECT_TRUE(utf8::is_valid(text)) << size;
    for (std::size_t at = 0; at < size; ++at) {
      text[at] = '\x80';
      EXPECT_FALSE(utf8::is_valid(text)) << size << " " << at;
      text[at] = 'a';
    }
    EXPECT_TRUE(utf8::is_valid(text + "\u20AC" + text)) << size;
    EXPECT_FALSE(utf8::is_valid(text + "\xE2\x82")) << size;
  }
}

TEST(Utf8, FindsAnUnfinishedTail) {
  EXPECT_EQ(utf8::unfinished_tail("a\xE2\x82"), 2U);
  EXPECT_EQ(utf8::unfinished_tail("a\xF0\x9F\x98"), 3U);
  EXPECT_EQ(utf8::unfinished_tail("a\xE2\x82\xAC"), 0U);
  EXPECT_EQ(utf8::unfinished_tail("a\x80"), 0U);
}

TEST(Utf8, JoinsSurrogates) {
  std::string high;
  std::string low;
  std::string joined;
  utf8::append_code_point(high, 0xD83D);
  utf8::append_code_point(low, 0xDE00);
  EXPECT_TRUE(utf8::ends_with_high_surrogate("x" + high));
  EXPECT_TRUE(utf8::begins_with_low_surrogate(low));
  utf8::append_code_point(joined, utf8::join_surrogates(high, low));
  EXPECT_EQ(joined, "\xF0\x9F\x98\x80");
}

TEST(Utf8, JoinsAPairThatTwoPiecesSplit) {
  const std::string high = "\xED\xA0\xBD";
  const std::string low = "\xED\xB8\x80";
  std::string held;
  std::string scratch;
  EXPECT_EQ(utf8::join_split_pair(held, "a" + high, scratch), "a");
  EXPECT_EQ(utf8::join_split_pair(held, "", scratch), "");
  EXPECT_EQ(utf8::join_split_pair(held, low + "b", scratch),
            "\xF0\x9F\x98\x80"
            "b");
  EXPECT_EQ(held, "");
  EXPECT_EQ(utf8::join_split_pair(held, high, scratch), "");
  EXPECT_EQ(utf8::join_split_pair(held, high, scratch), high);
  EXPECT_EQ(utf8::join_split_pair(held, "c", scratch), high + "c");
}

TEST(Utf8, CountsUtf16Units) {
  EXPECT_EQ(utf8::utf16_length("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 5U);
  EXPECT_EQ(utf8::to_utf16("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), u"a\u00E9\u20AC\U0001F600");
  EXPECT_EQ(utf8::to_utf16("\xED\xA0\xBD"), std::u16string(1, char16_t{0xD83D}));
}
