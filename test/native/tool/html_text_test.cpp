#include "tool/builtin/html_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.hpp"

namespace millrace::tool {
namespace {

std::string text_of(std::string_view html, std::size_t limit = 100'000) {
  HtmlText page(limit);
  page.feed(html);
  page.finish();
  return page.text();
}

TEST(HtmlText, ReadsBlocksLinksAndReferences) {
  HtmlText page(10'000);
  page.feed(R"(<!DOCTYPE html><html><head><title> The
    &quot;Page&quot; </title><style>p { color: "</p>" }</style><script>if (a < b) "<p>no</p>"</script>
    </head><body><!-- <p>not this</p> --><h1>Head &amp; shoulders</h1><p>One <b>bold</b>   word,
    <a href="https://example.com/a?b&amp;c">a link</a> &mdash; 5&nbsp;&euro; &#8364; &#x20AC; &#150; &unknown; AT&T</p>
    <ul><li>first<li>second <img src=x alt="a picture"></ul><pre>a
  b</pre><table><tr><td>1<td>2</tr><tr><td>3</table>1 < 2 & 3 > 2</body>)");
  page.finish();
  EXPECT_EQ(page.title(), "The \"Page\"");
  EXPECT_EQ(
      page.text(),
      "# Head & shoulders\n\nOne bold word, a link (https://example.com/a?b&c) \xE2\x80\x94 5 "
      "\xE2\x82\xAC \xE2\x82\xAC \xE2\x82\xAC \xE2\x80\x93 &unknown; AT&T\n\n- first\n- second a "
      "picture\n\na\n  b\n\n1 2\n3\n\n1 < 2 & 3 > 2");
  EXPECT_FALSE(page.is_cut());
}

TEST(HtmlText, ShowsNothingThatIsNotForReaders) {
  EXPECT_EQ(text_of("<SCRIPT>a</SCRIPT >b<svg><text>c</text></svg>d<template>e</template>"), "bd");
  EXPECT_EQ(text_of("<script>never closed"), "");
  EXPECT_EQ(text_of("a<!-- never closed"), "a");
  EXPECT_EQ(text_of("a<p title='>' x=\">\">b"), "a\n\nb");
  EXPECT_EQ(text_of("a<b"), "a");
  EXPECT_EQ(text_of("<a href='javascript:x'>b</a>"), "b");
}

TEST(HtmlText, StopsAtItsLimit) {
  HtmlText page(20);
  page.feed("<p>one two three four five six");
  page.finish();
  EXPECT_TRUE(page.is_cut());
  EXPECT_LE(page.text().size(), 20U);
  EXPECT_TRUE(text_of(std::string(200'000, '<')).size() <= 100'000);
}

TEST(HtmlText, GivesTheSameForEverySplit) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::array<std::string_view, 24> pieces{
      "<p>",       "</p>",  "text ", "&amp;",   "&am", "<!--", "-->",      "<script>",
      "</script>", "<",     ">",     "&#8364;", "\"",  "'",    "<a href=", "https://e.com",
      "</a>",      "<br/>", "\n",    "</",      "<!",  "=",    "<title>",  "</title>"};
  for (int i = 0; i < 3'000; ++i) {
    std::string html;
    for (std::size_t count = random() % 40; count > 0; --count) {
      html += pieces[random() % pieces.size()];
    }
    HtmlText split(100'000);
    for (std::size_t at = 0; at < html.size();) {
      const std::size_t size = 1 + random() % 7;
      split.feed(std::string_view(html).substr(at, size));
      at += size;
    }
    split.finish();
    HtmlText whole(100'000);
    whole.feed(html);
    whole.finish();
    ASSERT_EQ(split.text(), whole.text()) << html;
    ASSERT_EQ(split.title(), whole.title()) << html;
  }
}

TEST(HtmlText, TakesHostileNestingInItsStride) {
  std::string deep;
  for (int i = 0; i < 300'000; ++i) deep += "<div><b>";
  EXPECT_EQ(text_of(deep + "end"), "end");
}

}  // namespace
}  // namespace millrace::tool
