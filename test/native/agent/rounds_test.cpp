#include "agent/rounds.hpp"

#include <gtest/gtest.h>

#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

RoundRules rules() {
  auto read = RoundRules::from(tree(
      R"({"most":2,"mostTokens":50,"silence":{"tool":"hush","result":"quiet","conflict":"alone"},)"
      R"("unknownTool":"no tool","failedTool":"failed: "})"));
  EXPECT_TRUE(read.ok());
  return std::move(read).value();
}

Tree decided(std::string_view phase, std::string_view payload, int turns = 1) {
  Tree state = tree(R"({"messages":[{"role":"user","content":"x"}]})");
  state.set("modelTurns", Tree::integer(turns));
  Tree context = Tree::object();
  context.set("phase", phase);
  context.set("payload", tree(payload));
  return decide_round(state, context, rules());
}

TEST(Rounds, BeginWithTheModel) {
  for (const std::string_view phase : {"init", "user_input"}) {
    const Tree instruction = decided(phase, "{}", 0);
    EXPECT_EQ(instruction["type"].string(), "call_llm");
    EXPECT_EQ(instruction["payload"]["messages"].items().size(), 1U);
  }
}

TEST(Rounds, EndWithAnAnswerWithoutCalls) {
  EXPECT_EQ(decided("llm_result", R"({"toolsCalling":[]})")["reason"].string(), "completed");
}

TEST(Rounds, RunTheCallsOfATurnTogether) {
  const Tree one =
      decided("llm_result", R"({"parentMessageId":"a","toolsCalling":[{"apiName":"hush"}]})");
  EXPECT_EQ(one["type"].string(), "call_tools_batch");
  EXPECT_EQ(one["payload"]["parentMessageId"].string(), "a");
  const Tree two = decided("llm_result", R"({"toolsCalling":[{"apiName":"f"},{"apiName":"g"}]})");
  EXPECT_EQ(two["type"].string(), "call_tools_batch");
  EXPECT_EQ(two["payload"]["toolsCalling"].items().size(), 2U);
}

TEST(Rounds, RunNothingBesideSilence) {
  const Tree instruction =
      decided("llm_result", R"({"toolsCalling":[{"apiName":"f"},{"apiName":"hush"}]})");
  EXPECT_EQ(instruction["type"].string(), "resolve_blocked_tools");
  EXPECT_EQ(instruction["payload"]["blockedContent"].string(), "alone");
}

TEST(Rounds, EndInSilenceOnlyWhenItsToolWorked) {
  const auto after = [](std::string_view data, std::string_view success) {
    return decided("tools_batch_result",
                   std::string(R"({"toolResults":[{"toolCall":{"apiName":"hush"},"data":)")
                       .append(data)
                       .append(R"(,"isSuccess":)")
                       .append(success)
                       .append("}]}"));
  };
  EXPECT_EQ(after(R"("quiet")", "true")["reason"].string(), "silent");
  EXPECT_EQ(after(R"("quiet")", "false")["type"].string(), "call_llm");
  EXPECT_EQ(after(R"("other")", "true")["type"].string(), "call_llm");
}

TEST(Rounds, AreCounted) {
  EXPECT_EQ(decided("tools_batch_result", "{}", 1)["type"].string(), "call_llm");
  EXPECT_EQ(decided("tools_batch_result", "{}", 2)["reason"].string(), "max_iterations");
}

TEST(Rounds, SayWhatFailedInTheWordsOfTheHost) {
  EXPECT_EQ(reported_failure(tree(R"({"type":"tool_not_found","message":"x"})"), rules()),
            "no tool");
  EXPECT_EQ(reported_failure(tree(R"({"type":"tool_failed","message":"x"})"), rules()),
            "failed: x");
}

TEST(Rounds, RefuseWhatIsTooLong) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.append("word ");
  Tree messages = tree(R"([{"role":"user"}])");
  EXPECT_TRUE(check_room(messages, Tree(), rules()).ok());
  messages.items().front().set("content", text);
  EXPECT_EQ(check_room(messages, Tree(), rules()).error().code, Errc::context_window_exceeded);
}

TEST(Rounds, AreAtLeastOne) {
  EXPECT_EQ(RoundRules::from(tree(R"({"most":0})")).error().code, Errc::invalid_option);
}

}  // namespace
}  // namespace millrace::agent
