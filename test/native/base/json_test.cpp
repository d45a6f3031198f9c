#include "base/json.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include "base/json_depth.hpp"
#include "base/json_tree.hpp"
#include "support/sanitizers.hpp"

using namespace millrace;

namespace {

std::string round_trip(std::string_view text,
                       json::Surrogates surrogates = json::Surrogates::keep) {
  json::Document document;
  auto value = document.parse(text);
  return value ? value.value().to_json(surrogates) : std::string(value.error().code_name());
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
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

// Small objects and large ones find out in different ways whether a key is repeated.
TEST(JsonDocument, LastOfEqualKeysWinsAmongManyKeys) {
  for (const int count : {2, 31, 32, 33, 34, 200}) {
    std::string text = "{";
    for (const int round : {1, 2}) {
      for (int i = 0; i < count; ++i) {
        if (text.size() > 1) text.push_back(',');
        text.append("\"k").append(std::to_string(i)).append("\":");
        text.append(std::to_string(i * 10 + round));
      }
    }
    json::Document document;
    const auto value = document.parse(text + "}");
    ASSERT_TRUE(value.ok()) << count;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(value.value()["k" + std::to_string(i)].integer(), i * 10 + 2) << count;
    }
    EXPECT_FALSE(value.value()["k" + std::to_string(count)].exists()) << count;
  }
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

// The reader looks at blocks of bytes, which end anywhere in a string.
TEST(JsonDocument, EndsStringsAtEveryPlace) {
  for (std::size_t before = 0; before < 17; ++before) {
    const std::string head = "[\"" + std::string(before, 'y') + "\",\"";
    for (std::size_t size = 0; size < 35; ++size) {
      const std::string text(size, 'x');
      EXPECT_EQ(round_trip(head + text + "\",\"\"]"), head + text + "\",\"\"]");
      EXPECT_EQ(round_trip(head + text), "invalid_json");
      for (std::size_t at = 0; at <= size; ++at) {
        const auto with = [&](std::string_view piece) {
          return head + std::string(text).insert(at, piece) + "\"]";
        };
        for (const std::string_view piece :
             {"\\n", "\xC3\xA9", "\\\"", "\xF0\x9F\x91\x8D", "\x7F"}) {
          EXPECT_EQ(round_trip(with(piece)), with(piece));
        }
        EXPECT_EQ(round_trip(with("\t")), "invalid_json");
      }
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
  EXPECT_EQ(round_trip(nested(128)), nested(128));
  EXPECT_EQ(round_trip(nested(129)), "json_too_deep");
}

TEST(JsonDocument, NeedsLittleStackForTheDeepestValue) {
  // As threads of macOS have it; without optimization, or with a sanitizer's checks, it takes more.
#ifdef NDEBUG
  constexpr bool is_plain = !test::has_address_sanitizer && !test::has_thread_sanitizer;
#else
  constexpr bool is_plain = false;
#endif
  constexpr std::size_t stack_bytes = is_plain ? 512UL * 1024 : 4UL * 1024 * 1024;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
  pthread_t thread{};
  std::string received;
  const auto work = [](void* out) -> void* {
    const std::string text = nested(json::data_depth_limit);
    json::Document document(json::data_depth_limit);
    const auto value = document.parse(text);
    if (!value) return nullptr;
    const json::Tree tree(value.value());
    *static_cast<std::string*>(out) = tree.to_json() == text ? "same" : "other";
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, work, &received), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(received, "same");
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
