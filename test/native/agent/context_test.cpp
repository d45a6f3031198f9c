// Runs the golden cases of context engineering: `input` and the `payload` it makes.
#include "agent/context.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "support/golden.hpp"
#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

class GoldenContext : public testing::TestWithParam<test::GoldenCase> {};

TEST_P(GoldenContext, MakesTheExpectedPayload) {
  const std::string* input = GetParam().block("input");
  const std::string* expected = GetParam().block("payload");
  ASSERT_NE(input, nullptr);
  ASSERT_NE(expected, nullptr);
  CountingIds ids("id-");
  const auto made = build_context(tree(*input), ids);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made.value().to_json(), tree(*expected).to_json());
}

INSTANTIATE_TEST_SUITE_P(Context, GoldenContext,
                         testing::ValuesIn(test::golden_cases("context/context.md")),
                         [](const testing::TestParamInfo<test::GoldenCase>& row) {
                           return std::regex_replace(row.param.name, std::regex("[^A-Za-z0-9]+"),
                                                     "_");
                         });

TEST(Context, RefusesAConversationWithNothingToAnswer) {
  CountingIds ids("id-");
  for (const char* input : {"{}", R"({"messages":[]})", R"({"messages":"x"})",
                            R"({"messages":[{"role":"system","content":"S"}]})"}) {
    const auto made = build_context(tree(input), ids);
    ASSERT_FALSE(made) << input;
    EXPECT_EQ(made.error().code, Errc::invalid_argument);
  }
}

TEST(Context, HasTheQuestionAloneWithoutHistory) {
  for (const auto& [count, size] : {std::pair{"0", 1U}, {"-1", 1U}, {"2", 2U}, {"null", 3U}}) {
    CountingIds ids("id-");
    const auto made = build_context(
        tree(std::string(R"({"agent":{"model":"m"},"messages":[{"role":"user","content":"1"},)"
                         R"({"role":"assistant","content":"2"},{"role":"user","content":"3"}],)"
                         R"("historyCount":)") +
             count + "}"),
        ids);
    ASSERT_TRUE(made) << count;
    const auto& rows = made.value()["payload"]["messages"].items();
    const std::size_t begins = rows.front()["content"].string().starts_with("(") ? 1 : 0;
    EXPECT_EQ(rows.size() - begins, size) << made.value().to_json();
    EXPECT_EQ(rows.back()["content"].string(), "3");
  }
}

}  // namespace
}  // namespace millrace::agent
