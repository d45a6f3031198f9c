// Arguments of a Gemini call that come value by value.
#include "adapter/gemini_arguments.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace millrace;

namespace {

void add(adapter::GeminiArguments& arguments, const std::string& path, int value) {
  json::Document document;
  const auto piece = document.parse(R"({"jsonPath":")" + path + R"(","numberValue":)" +
                                    std::to_string(value) + "}");
  ASSERT_TRUE(piece.ok()) << path;
  EXPECT_TRUE(arguments.add(piece.value())) << path;
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
