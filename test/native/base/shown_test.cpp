// Values in the sentences of errors.
#include "base/shown.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace millrace {
namespace {

std::string shown_json(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  const std::string shown = parsed ? shown_value(parsed.value()) : std::string("no JSON");
  const auto tree = json::Tree::parse(json);
  EXPECT_EQ(tree ? shown_value(tree.value()) : std::string("no JSON"), shown);
  return shown;
}

std::string kind_of_json(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  const std::string kind = parsed ? kind_of(parsed.value()) : std::string("no JSON");
  const auto tree = json::Tree::parse(json);
  EXPECT_EQ(tree ? kind_of(tree.value()) : std::string("no JSON"), kind);
  return kind;
}

TEST(Shown, GivesShortValuesAndKindsOfOthers) {
  EXPECT_EQ(shown_json(R"("morse")"), "'morse'");
  EXPECT_EQ(shown_json("-1.5"), "-1.5");
  EXPECT_EQ(shown_json("true"), "true");
  EXPECT_EQ(shown_json("null"), "null");
  EXPECT_EQ(shown_json("[1]"), "a list");
  EXPECT_EQ(shown_json("{}"), "an object");
  EXPECT_EQ(shown_value(json::Value()), "nothing");
}

TEST(Shown, GivesTheKindOfWhatMayBeASecret) {
  EXPECT_EQ(kind_of_json(R"("hunter2")"), "a string");
  EXPECT_EQ(kind_of_json("4711"), "a number");
  EXPECT_EQ(kind_of_json("false"), "a boolean");
  EXPECT_EQ(kind_of_json("[]"), "a list");
  EXPECT_EQ(kind_of_json("null"), "null");
  EXPECT_EQ(kind_of(json::Value()), "nothing");
}

TEST(Shown, CutsTextsAndHidesCredentials) {
  EXPECT_EQ(shown_text("a\nb\x1b[2J"), "'a b'");
  EXPECT_EQ(shown_text(std::string(200, ' '), 10), "'" + std::string(10, ' ') + "...'");
  EXPECT_EQ(shown_text("Bearer abcdefghijkl"), "'Bearer [redacted]'");
  EXPECT_EQ(shown_text("sk-abcdefghijklmnop and more"), "'sk-[redacted] and more'");
}

TEST(Shown, LeavesThePrivatePartsOfAnAddressOut) {
  EXPECT_EQ(shown_address("ftp://files.example/a"), "'ftp://files.example/a'");
  EXPECT_EQ(shown_address("https://me:pass@host.example/a?key=1#top"),
            "'https://***@host.example/a'");
  EXPECT_EQ(shown_address("me:pass@host.example"), "'***@host.example'");
}

TEST(Errors, EachCodeHasASentenceAndAFix) {
  for (int code = 0; code <= static_cast<int>(Errc::internal); ++code) {
    const ErrorRow& row = row_of(static_cast<Errc>(code));
    for (const std::string_view text : {row.sentence, row.fix}) {
      EXPECT_GT(text.size(), 10U) << row.code;
      EXPECT_TRUE(text.ends_with('.')) << row.code << ": " << text;
    }
  }
}

}  // namespace
}  // namespace millrace
