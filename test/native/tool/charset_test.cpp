#include "tool/charset.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.hpp"
#include "tool/builtin/html_text.hpp"

namespace millrace::tool {
namespace {

// The text, or what is wrong; fed in pieces of `size` bytes.
std::string decoded(std::string_view bytes, std::string_view content_type = "",
                    std::size_t size = 4096) {
  TextDecoder decoder(content_type);
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    if (const auto read = decoder.feed(bytes.substr(0, size), text); !read) {
      return read.error().message;
    }
  }
  const auto read = decoder.finish(text);
  return read ? text : read.error().message;
}

struct Sample {
  std::string_view label;
  std::string_view bytes;
  std::string_view text;
};

// Source: the tables of the WHATWG Encoding Standard.
constexpr std::array samples{
    Sample{"windows-1251", "\xCF\xF0\xE8\xE2\xE5\xF2", "\u041F\u0440\u0438\u0432\u0435\u0442"},
    Sample{"koi8-r", "\xF0\xD2\xC9\xD7\xC5\xD4", "\u041F\u0440\u0438\u0432\u0435\u0442"},
    Sample{"gbk", "\xC4\xE3\xBA\xC3", "\u4F60\u597D"},
    Sample{"GB2312", "\xC4\xE3\xBA\xC3", "\u4F60\u597D"},
    Sample{"gb18030", "\xC4\xE3\x81\x30\x81\x30", "\u4F60\u0080"},
    Sample{"big5", "\xA7\x41\xA6\x6E", "\u4F60\u597D"},
    Sample{"euc-kr", "\xBE\xC8\xB3\xE7", "\uC548\uB155"},
    Sample{"ks_c_5601-1987", "\xBE\xC8\x8C\x63", "\uC548\uB620"},
    Sample{"Shift_JIS", "\x82\xB1\x82\xF1\x87\x40", "\u3053\u3093\u2460"},
    Sample{"euc-jp", "\xA4\xB3\xA4\xF3", "\u3053\u3093"},
    Sample{"iso-2022-jp", "\x1B$B$3$s\x1B(B!", "\u3053\u3093!"},
    Sample{"windows-1252", "\x80", "\u20AC"},
    Sample{"iso-8859-1", "\x80\xFC", "\u20AC\u00FC"},
    Sample{"iso-8859-15", "\xA4", "\u20AC"},
    Sample{"iso-8859-2", "\xB1", "\u0105"},
    Sample{"iso-8859-9", "\xFE", "\u015F"},
    Sample{"windows-874", "\xA1", "\u0E01"},
    Sample{"utf-8", "\xC3\xBC", "\u00FC"}};

class Charsets : public ::testing::TestWithParam<Sample> {};

TEST_P(Charsets, AreReadByHeaderAndByDeclaration) {
  const auto& [label, bytes, text] = GetParam();
  const std::string name(label);
  for (const std::size_t size : {1U, 3U, 4096U}) {
    EXPECT_EQ(decoded(bytes, "text/html; charset=" + name, size), text) << size;
    EXPECT_EQ(decoded(bytes, "text/html; Charset=\"" + name + "\"; a=b", size), text) << size;
    const std::string head = "<!doctype html><meta charset='" + name + "'><p>";
    EXPECT_EQ(decoded(head + std::string(bytes), "text/html", size), head + std::string(text));
  }
}

INSTANTIATE_TEST_SUITE_P(Labels, Charsets, ::testing::ValuesIn(samples));

TEST(TextDecoder, GoesByTheMarkThenTheHeaderThenThePage) {
  EXPECT_EQ(decoded("\xEF\xBB\xBF\xC3\xBC", "text/plain; charset=gbk"), "\u00FC");
  EXPECT_EQ(decoded(std::string_view("\xFF\xFE\xFC\0", 4), "text/plain"), "\u00FC");
  EXPECT_EQ(decoded(std::string_view("\xFE\xFF\0\xFC", 4)), "\u00FC");
  EXPECT_EQ(decoded("<meta charset=gbk>\xFC", "text/html; charset=iso-8859-1"),
            "<meta charset=gbk>\u00FC");
  EXPECT_EQ(decoded("<meta charset=utf-16le>\xC3\xBC"), "<meta charset=utf-16le>\u00FC");
  EXPECT_EQ(decoded("\"<meta charset=gbk>\xC3\xBC\"", "application/json"),
            "\"<meta charset=gbk>\u00FC\"");
  EXPECT_EQ(decoded("\xC3\xBC"), "\u00FC");
  EXPECT_EQ(decoded(""), "");
}

TEST(TextDecoder, ReplacesWhatIsMalformedOrUnfinished) {
  EXPECT_EQ(decoded("a\xFFz", "text/plain; charset=gbk"), "a\uFFFDz");
  EXPECT_EQ(decoded("a\xC4", "text/plain; charset=gbk"), "a\uFFFD");
  EXPECT_EQ(decoded("\x82<b>", "text/plain; charset=shift_jis"), "\uFFFD<b>");
  EXPECT_EQ(decoded("a\xC3"), "a\uFFFD");
  // A half of a pair alone takes its two bytes with it.
  EXPECT_EQ(decoded(std::string_view("\xD8\x00\x00z", 4), "text/plain; charset=utf-16be"),
            "\uFFFDz");
  EXPECT_EQ(decoded(std::string_view("\x00\xDCz\x00", 4), "text/plain; charset=utf-16le"),
            "\uFFFDz");
  // The system's converter points behind what it refuses here.
  EXPECT_EQ(decoded("{\xA2\xE8", "text/plain; charset=euc-kr"), "{\uFFFD\uFFFD");
  EXPECT_EQ(decoded("{\xA2\xE8z", "text/plain; charset=euc-kr"),
            decoded("{\xA2\xE8z", "text/plain; charset=euc-kr", 1));
}

TEST(TextDecoder, NamesACharsetThatCannotBeRead) {
  EXPECT_EQ(decoded("plain", "text/plain; charset=x-odd"), "plain");
  EXPECT_EQ(decoded("\xC3\xBC", "text/plain; charset=x-odd"), "\u00FC");
  EXPECT_EQ(decoded("\xC3\xBC\xC3", "text/plain; charset=x-odd"), "\u00FC\uFFFD");
  EXPECT_EQ(decoded("a\xFC z", "text/plain; charset=x-odd"),
            "The answer has the charset 'x-odd', which is not supported; request UTF-8.");
  EXPECT_EQ(decoded("<meta charset=hz-gb-2312>\xFC z"),
            "The answer has the charset 'hz-gb-2312', which is not supported; request UTF-8.");
}

// Errors, crashes and endless loops aside: whatever comes is valid UTF-8, in whatever pieces.
TEST(TextDecoder, MakesValidTextOfAnyBytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const Sample& sample : samples) {
    for (int round = 0; round < 20; ++round) {
      std::string bytes(random() % 3000, 'x');
      for (char& byte : bytes) byte = static_cast<char>(random());
      const std::string type = "text/plain; charset=" + std::string(sample.label);
      const std::string whole = decoded(bytes, type);
      EXPECT_TRUE(utf8::is_valid(whole)) << sample.label;
      EXPECT_EQ(decoded(bytes, type, 1 + random() % 5), whole) << sample.label;
    }
  }
}

TEST(DeclaredCharset, IsThatOfTheFirstMetaThatSaysOne) {
  EXPECT_EQ(
      declared_charset("<html><head><META name=a content='charset=x'><meta CharSet = \"GBK\">"),
      "GBK");
  EXPECT_EQ(
      declared_charset("<meta http-equiv=content-type content='text/html; charset = big5; a'>"),
      "big5");
  EXPECT_EQ(declared_charset("<!-- <meta charset=a> --><meta\ncharset=b>"), "b");
  EXPECT_EQ(declared_charset("<title>a < b</title><meta charset=b>"), "b");
  EXPECT_EQ(declared_charset("<?xml version=\"1.0\" encoding=\"windows-1251\"?><rss>"),
            "windows-1251");
  for (const std::string_view none :
       {"", "<", "<meta", "<meta charset=a", "<metal charset=a>", "<meta content='charset=a'>",
        "<!-- <meta charset=a>", "<p charset=a>"}) {
    EXPECT_EQ(declared_charset(none), "") << none;
  }
}

}  // namespace
}  // namespace millrace::tool
