// Arguments of a Gemini call that come value by value.
#include "adapter/gemini_arguments.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

using namespace millrace;

namespace {

void add(adapter::GeminiArguments& arguments, const std::string& path, int value) {
  json::Document document;
  const auto piece = document.parse(R"({"jsonPath":")" + path + R"(","numberValue":)" +
                                    std::to_string(value) + "}");
  ASSERT_TRUE(piece.ok()) << path;
  EXPECT_TRUE(arguments.add(piece.value())) << path;
}

std::string joined(adapter::GeminiArguments& arguments,
                   std::initializer_list<std::string_view> pieces) {
  json::Document document;
  for (const std::string_view piece : pieces) {
    const auto value = document.parse(piece);
    if (!value || !arguments.add(value.value())) return "rejected: " + std::string(piece);
  }
  return arguments.take();
}

}  // namespace

TEST(GeminiArguments, KeepMembersInTheirOrderAndOnce) {
  adapter::GeminiArguments arguments;
  std::string expected = "{";
  for (int at = 0; at < 100; ++at) {
    add(arguments, "$.m" + std::to_string(at), 0);
    json::append_member(expected, "m" + std::to_string(at), std::int64_t{at});
  }
  const std::size_t bytes = arguments.bytes();
  for (int at = 0; at < 100; ++at) add(arguments, "$.m" + std::to_string(at), at);
  EXPECT_LT(arguments.bytes(), bytes + 200) << "members that are known take no room again";
  EXPECT_EQ(arguments.take(), expected + "}");
  EXPECT_TRUE(arguments.empty());
}

// With a search among all members this test would need minutes, not a second.
TEST(GeminiArguments, AreLinearInTheirMembers) {
  adapter::GeminiArguments arguments;
  constexpr int members = 200'000;
  for (int at = 0; at < members; ++at) add(arguments, "$.m" + std::to_string(at), at);
  EXPECT_TRUE(arguments.take().ends_with(R"("m199999":199999})"));
}

TEST(GeminiArguments, JoinPiecesOfOnePathAlsoBehindThoseOfAnother) {
  adapter::GeminiArguments arguments;
  constexpr std::string_view a1 = R"({"jsonPath":"$.a[1].b","stringValue":"x"})";
  constexpr std::string_view a2 = R"({"jsonPath":"$.a[1].b","stringValue":"y"})";
  constexpr std::string_view c = R"({"jsonPath":"$.c","numberValue":1})";
  constexpr std::string_view d = R"({"jsonPath":"$.a[0]","boolValue":true})";
  EXPECT_EQ(joined(arguments, {a1, a2, c, a2, d, a1}), R"({"a":[true,{"b":"xyyx"}],"c":1})");
  // The next call has values of its own.
  EXPECT_EQ(joined(arguments, {a1}), R"({"a":[null,{"b":"x"}]})");
  EXPECT_EQ(joined(arguments, {c, R"({"jsonPath":"$.c.d","numberValue":1})"}),
            R"(rejected: {"jsonPath":"$.c.d","numberValue":1})");
}
