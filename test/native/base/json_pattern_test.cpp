// A Document that reads one text after the other gives what a fresh one gives for each.
#include "base/json_pattern.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/json.hpp"

using namespace millrace;

namespace {

std::string outcome(json::Document& document, std::string_view text) {
  const auto value = document.parse(text);
  if (!value) return std::string(value.error().code_name()) + ": " + value.error().message;
  return value.value().to_json(json::Surrogates::keep);
}

void expect_same(json::Document& used, std::string_view text) {
  json::Document fresh;
  EXPECT_EQ(outcome(used, text), outcome(fresh, text)) << text;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  return text.replace(text.find(what), what.size(), by);
}

// Reads `first` until it is the pattern, then `next`.
void expect_same_after(std::string_view first, std::string_view next) {
  json::Document document;
  for (int i = 0; i < 3; ++i) expect_same(document, first);
  expect_same(document, next);
  expect_same(document, first);
}

const std::string record =
    R"({"id":"c-1","n":[1,-2.5e3,0],"choices":[{"delta":{"content":"a"},"x":null,"y":true}],)"
    R"("k\n":"v","seq":7})";

}  // namespace

TEST(JsonPattern, ReadsOtherStringsAndNumbers) {
  for (const std::string_view text :
       {"", "b", "a longer piece of text than the one before it", "\\\"", "\\\\", "\\u00e9",
        "\xC3\xA9", "\xF0\x9F\x91\x8D", "\\ud83d\\ude00", "\\ud83d", "\\ude00 x", "\xFF", "\x7F",
        "\xED\xA0\x80", "\\n", "},\\\"content\\\":{"}) {
    expect_same_after(record, replaced(record, "\"a\"", '"' + std::string(text) + '"'));
  }
  for (const std::string_view number :
       {"0", "70", "8", "-7", "7.5", "7e10", "1e400", "12345678901234567890123"}) {
    expect_same_after(record, replaced(record, "7}", std::string(number) + "}"));
  }
}

TEST(JsonPattern, RefusesWhatIsNoJson) {
  for (const std::string_view text :
       {"\x01", "\\", "\\x", "\\u12", "\"", "a\",", "\n", "a\"}", "\\ud8"}) {
    expect_same_after(record, replaced(record, "\"a\"", '"' + std::string(text) + '"'));
  }
  expect_same_after(record, replaced(record, "\"a\"", std::string_view("\"\0\"", 3)));
  for (const std::string_view number : {"07", "7.", "-", "+7", "7e", "", "7 7", "7a", "0x7", "--7"})
    expect_same_after(record, replaced(record, "7}", std::string(number) + "}"));
}

TEST(JsonPattern, SeesEveryOtherDifference) {
  for (const auto& [what, by] : {std::pair<std::string_view, std::string_view>{"\"a\"", "null"},
                                 {"null", "\"a\""},
                                 {"null", "false"},
                                 {"true", "1"},
                                 {"7}", "\"7\"}"},
                                 {"7}", "[7]}"},
                                 {"\"id\"", "\"ie\""},
                                 {"\"id\"", "\"seq\""},
                                 {"7}", "7,\"id\":8}"},
                                 {"7}", "7"},
                                 {"7}", "7}}"},
                                 {"7}", "7 }"},
                                 {"[1,", "[1,2,"},
                                 {"{\"id\"", "\"id\""},
                                 {"k\\n", "k\\t"}}) {
    expect_same_after(record, replaced(record, what, by));
  }
}

TEST(JsonPattern, FollowsMoreValuesThanItRemembers) {
  const auto list = [](int seed) {
    std::string text = "[";
    for (int i = 0; i < 40; ++i) text += "\"" + std::to_string(seed * i) + "\",";
    return text + "0]";
  };
  json::Document document;
  for (int seed = 1; seed < 9; ++seed) expect_same(document, list(seed));
}

TEST(JsonPattern, ReadsScalarsAndEmptyTexts) {
  json::Document document;
  for (const std::string_view text : {"1", "2", "3", "\"a\"", "\"b\"", "", "\"b\"", "{}", "[]"}) {
    for (int i = 0; i < 3; ++i) expect_same(document, text);
  }
}

TEST(JsonPattern, AgreesWithAFreshDocumentOnMutations) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  constexpr std::array<std::string_view, 24> pieces{
      "\"",   "\\",   "{",    "}",       "[",       "]",   ",",      ":",
      "0",    "1",    "-",    ".",       "e5",      " ",   "a",      "null",
      "true", "\xC3", "\xA9", "\\ud83d", "\\ude00", "\\n", "\"a\":", "\x1F"};
  json::Document document;
  for (int round = 0; round < 3000; ++round) {
    std::string text = record;
    for (std::size_t edits = below(3); edits > 0; --edits) {
      text.replace(below(text.size()), below(3), pieces[below(pieces.size())]);
    }
    // Bad texts are rare in a stream; most rounds change what a stream changes.
    if (round % 4 != 0) {
      text = replaced(record, "\"a\"", '"' + std::string(pieces[below(pieces.size())]) + '"');
    }
    expect_same(document, text);
  }
}

namespace {

// Every member that one of the keys names, in every object of the tree.
void add_members(std::string& out, const json::Value& value) {
  // The marks of the first two are the same.
  constexpr std::array<std::string_view, 8> keys{"a--m-z", "a++m-z", "id",   "n",
                                                 "",       "delta",  "none", "a..m-z"};
  for (const std::string_view key : keys) {
    const json::Value member = value[key];
    out.append(key).append("=");
    if (member) member.write(out);
    out.push_back(';');
  }
  for (const json::Member& member : value.members()) add_members(out, member.value);
  for (const json::Value item : value.items()) add_members(out, item);
}

std::string members_of(json::Document& document, std::string_view text) {
  const auto value = document.parse(text);
  std::string out;
  if (value) add_members(out, value.value());
  return out;
}

}  // namespace

TEST(JsonPattern, FindsTheSameMembersInEachRecord) {
  ASSERT_EQ(json::detail::key_mark("a--m-z"), json::detail::key_mark("a++m-z"));
  std::string wide = R"({"id":"x")";
  for (int at = 0; at < 100; ++at) wide += ",\"k" + std::to_string(at) + R"(":{"n":1,"id":2})";
  wide.push_back('}');
  const std::array<std::string, 8> shapes{
      R"({"id":"x","n":1,"delta":{"a++m-z":1,"id":"y","":[{"n":5}]}})",
      R"({"a--m-z":"x","a++m-z":2,"delta":[{"id":1},{"n":2}]})",
      R"({"a++m-z":"x","a--m-z":2,"delta":[{"id":1},{"n":2}]})",
      R"({"id":"x","id":"y","delta":{"n":1,"n":2}})",
      R"([{"id":"x"},{"n":1},{}])",
      R"("x")",
      "{}",
      wide};
  json::Document document;
  std::mt19937 random(7);  // NOLINT: the same texts each time
  for (int round = 0; round < 2000; ++round) {
    std::string text = shapes.at(random() % shapes.size());
    for (int times = static_cast<int>(random() % 6); times >= 0; --times) {
      json::Document fresh;
      ASSERT_EQ(members_of(document, text), members_of(fresh, text)) << text;
      const std::size_t at = text.find("\"x\"");
      if (at != std::string::npos) text.replace(at, 3, '"' + std::string(random() % 9, 'x') + '"');
    }
  }
}
