#include "agent/turn_reports.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::agent {
namespace {

using json::Tree;

Tree report_of(const std::string& model) {
  return Tree::parse(R"({"answers":[{"provider":"p","model":")" + model +
                     R"(","finishReason":"tool_calls"}]})")
      .value();
}

TEST(TurnReports, HoldEqualAnswersOnce) {
  Tree state = Tree::object();
  for (const char* model : {"a", "a", "b"}) add_report(state, report_of(model), Tree());
  const auto& answers = state["report"]["answers"].items();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0].is_same(answers[1]));
  EXPECT_EQ(answers[2]["model"].string(), "b");
}

}  // namespace
}  // namespace millrace::agent
