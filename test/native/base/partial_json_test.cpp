#include "base/partial_json.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/json.hpp"

namespace millrace::json {
namespace {

std::string completed(std::string_view text) {
  PartialJson partial;
  partial.feed(text);
  return partial.completed();
}

TEST(ObjectText, IsAnObjectAlways) {
  EXPECT_EQ(object_text(R"({"a": 1})"), R"({"a": 1})");
  EXPECT_EQ(object_text(R"( {"a":[1,{"b":"c)"), R"({"a":[1,{"b":"c"}]})");
  EXPECT_EQ(object_text(R"({"a":1}})"), R"({"a":1})");
  std::string deep = R"({"a":)";
  deep.append(400, '[').append(400, ']').append("}");
  EXPECT_EQ(object_text(deep), deep);
  for (const std::string_view text :
       {"", " ", "[1]", "null", "\"{}\"", "no {}", "{a:1}", "{\"a\" 1}"}) {
    EXPECT_EQ(object_text(text), "{}") << text;
  }
}

TEST(PartialJson, ClosesWhatIsOpenAndMakesNothingUp) {
  EXPECT_EQ(completed(""), "");
  EXPECT_EQ(completed("Here it is:\n```json\n"), "");
  EXPECT_EQ(completed("{"), "{}");
  EXPECT_EQ(completed(R"({"a)"), "{}");
  EXPECT_EQ(completed(R"({"a")"), "{}");
  EXPECT_EQ(completed(R"({"a":)"), "{}");
  EXPECT_EQ(completed(R"({"a":")"), R"({"a":""})");
  EXPECT_EQ(completed(R"({"a":"b\)"), R"({"a":"b"})");
  EXPECT_EQ(completed(R"({"a":"b\n)"), R"({"a":"b\n"})");
  EXPECT_EQ(completed(R"({"a":"b\u00e)"), R"({"a":"b"})");
  EXPECT_EQ(completed(R"({"a":"\ud83d)"), R"({"a":""})");
  EXPECT_EQ(completed(R"({"a":"\ud83d\ude00)"), R"({"a":"\ud83d\ude00"})");
  EXPECT_EQ(completed("{\"a\":\"\xF0\x9F"), "{\"a\":\"\"}");
  EXPECT_EQ(completed(R"({"a":1)"), "{}");
  EXPECT_EQ(completed(R"({"a":1.5 )"), R"({"a":1.5})");
  EXPECT_EQ(completed(R"({"a":[1,2)"), R"({"a":[1]})");
  EXPECT_EQ(completed(R"({"a":[1,)"), R"({"a":[1]})");
  EXPECT_EQ(completed(R"({"a":tru)"), "{}");
  EXPECT_EQ(completed(R"({"a":true)"), R"({"a":true})");
  EXPECT_EQ(completed(R"({"a":[{"b":null},{"c)"), R"({"a":[{"b":null},{}]})");
  EXPECT_EQ(completed("[[],{}]```"), "[[],{}]");
}

TEST(PartialJson, KeepsWhatWasGoodBeforeBrokenText) {
  PartialJson partial;
  partial.feed(R"({"a":[1,2],b)");
  EXPECT_TRUE(partial.broken());
  EXPECT_EQ(partial.completed(), R"({"a":[1,2]})");
}

// A value with a bit of everything.
std::string random_value(std::mt19937& random, int depth) {
  const auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  switch (pick(depth > 0 ? 8 : 5)) {
    case 0: return "null";
    case 1: return pick(2) != 0 ? "true" : "false";
    case 2: return std::to_string(pick(2000) - 1000) + (pick(2) != 0 ? ".5e-3" : "");
    case 3: return R"("a\"b\\\u00e9\ud83d\ude00)" + std::string("\xC3\xA9\"");
    case 4: return "\"\"";
    case 5: {
      std::string out = "[ ";
      for (int i = pick(4); i > 0; --i)
        out += random_value(random, depth - 1) + (i > 1 ? " ,\n" : "");
      return out + "]";
    }
    default: {
      std::string out = "{";
      for (int i = pick(4); i > 0; --i) {
        out += "\"k" + std::to_string(i) + "\" : " + random_value(random, depth - 1) +
               (i > 1 ? "," : " ");
      }
      return out + "}";
    }
  }
}

TEST(PartialJson, IsValidJsonAtEveryCutOfRandomValues) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::string text = "[" + random_value(random, 4) + "]";
    PartialJson partial;
    for (const char c : text) {
      partial.feed(std::string_view(&c, 1));
      const std::string so_far = partial.completed();
      Document document;
      ASSERT_TRUE(document.parse(so_far)) << "seed " << seed << ": " << text << " -> " << so_far;
      ASSERT_FALSE(partial.broken()) << "seed " << seed << ": " << text;
    }
    ASSERT_TRUE(partial.complete()) << "seed " << seed << ": " << text;
    ASSERT_EQ(partial.completed(), text);
  }
}

}  // namespace
}  // namespace millrace::json
