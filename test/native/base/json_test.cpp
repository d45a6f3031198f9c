#include "base/json.hpp"

#include <gtest/gtest.h>

using namespace millrace;

namespace {

std::string round_trip(std::string_view text,
                       json::Surrogates surrogates = json::Surrogates::keep) {
  json::Document document;
  auto value = document.parse(text);
  return value ? value.value().to_json(surrogates) : std::string(value.error().code_name());
}

}  // namespace

TEST(JsonDocument, KeepsNumbersAsWritten) {
  EXPECT_EQ(round_trip("[1.0,-0,123456789012345678901234567890,1e5]"),
            "[1.0,-0,123456789012345678901234567890,1e5]");
}

TEST(JsonDocument, KeepsNumbersThatNoDoubleHolds) {
  const std::string long_number(400, '7');
  const std::string text = "{\"a\":[1e400,\"1e400\\\"\"," + long_number + ",-1E-999,2],\"b\":1e5}";
  EXPECT_EQ(round_trip(text), text);
  EXPECT_EQ(round_trip("[1e400,01]"), "invalid_json");
}

TEST(JsonDocument, LastOfEqualKeysWins) {
  json::Document document;
  auto value = document.parse(R"({"a":1,"a":2})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value.value()["a"].integer(), 2);
}

TEST(JsonDocument, TellsApartKeysThatLookAlike) {
  // Equal in length, first, middle and last character.
  json::Document document;
  const auto parsed = document.parse(R"({"abcd":1,"axcd":2,"":3,"a":4})");
  ASSERT_TRUE(parsed.ok());
  const json::Value& value = parsed.value();
  EXPECT_EQ(value["abcd"].integer(), 1);
  EXPECT_EQ(value["axcd"].integer(), 2);
  EXPECT_FALSE(value["azcd"].exists());
  EXPECT_EQ(value[""].integer(), 3);
  EXPECT_EQ(value["a"].integer(), 4);
  EXPECT_TRUE(value.may_have({"nothing", "axcd"}));
  EXPECT_FALSE(json::Value().may_have({"abcd"}));
}

// Wherever it stands: in a short string, or in a block of a long one.
TEST(JsonDocument, RefusesEachControlCharacterInAString) {
  for (int code = 0; code < 0x20; ++code) {
    for (const std::size_t before : {0U, 3U, 15U, 16U, 31U, 64U, 100U}) {
      std::string text = "{\"a\":\"" + std::string(before, 'x');
      text.push_back(static_cast<char>(code));
      text.append(20, 'y').append("\"}");
      json::Document document;
      const auto parsed = document.parse(text);
      ASSERT_FALSE(parsed) << code << " behind " << before;
      EXPECT_EQ(parsed.error().code, Errc::invalid_json);
    }
  }
}

TEST(JsonDocument, KeepsLoneSurrogates) {
  EXPECT_EQ(round_trip(R"(["\ud800x\udc00","\ud83d\ude00"])"),
            "[\"\\ud800x\\udc00\",\"\xF0\x9F\x98\x80\"]");
  EXPECT_EQ(round_trip(R"(["\ud800"])", json::Surrogates::replace), "[\"\xEF\xBF\xBD\"]");
  EXPECT_EQ(round_trip(R"(["\\ud800"])"), R"(["\\ud800"])");
}

TEST(JsonDocument, ReplacesMalformedBytes) {
  EXPECT_EQ(round_trip("[\"a\xFF"
                       "b\xE2\x82\"]"),
            "[\"a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\"]");
  EXPECT_EQ(round_trip("[\"\xED\xA0\x80\"]"), "[\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"]");
}

TEST(JsonDocument, RefusesWhatJsonParseRefuses) {
  for (const std::string_view text :
       {"", "{", "[1,]", "{\"a\":1}x", "nul", "'a'", "[\"\x01\"]", "[\"\\u12\"]"}) {
    EXPECT_EQ(round_trip(text), "invalid_json") << text;
  }
  EXPECT_EQ(round_trip(std::string_view("[1]\0", 4)), "invalid_json");
}

TEST(JsonDocument, LimitsDepth) {
  EXPECT_EQ(round_trip(std::string(1'000'000, '[')), "json_too_deep");
  EXPECT_EQ(round_trip(std::string(128, '[') + std::string(128, ']')).size(), 256U);
}

TEST(JsonDocument, TrimsWhatJavaScriptTrims) {
  EXPECT_EQ(round_trip("\xEF\xBB\xBF\xC2\xA0 {\"a\":[]} \r\n"), "{\"a\":[]}");
}

TEST(JsonLooksComplete, SeesClosedBracketsOnly) {
  EXPECT_TRUE(json::looks_complete(R"({"a":"}"})"));
  EXPECT_FALSE(json::looks_complete(R"({"a":"}")"));
  EXPECT_FALSE(json::looks_complete("[DONE"));
  EXPECT_TRUE(json::looks_complete("[DONE]"));
  EXPECT_FALSE(json::looks_complete("{}{}"));
}
