#include "agent/result_ids.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/decision.hpp"
#include "agent/interrupts.hpp"
#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

// A call that waits, without a message for its result.
constexpr std::string_view waiting = R"({"status":"waiting_for_async_tool","messages":[
  {"id":"u","role":"user","content":"Open it."},
  {"id":"a","role":"assistant","content":"","tool_calls":[
    {"id":"c1","type":"function","function":{"name":"open","arguments":"{}"}}]}],
  "pendingToolsCalling":[
    {"id":"c1","identifier":"open","apiName":"open","arguments":"{}","type":"builtin"}]})";

std::string last_id(const Tree& state) {
  return std::string(state["messages"].items().back()["id"].string());
}

TEST(ResultIds, AreThoseOfTheEventsForReadersOfARun) {
  const Tree decision = tree(R"({"action":"tool_result","toolCallId":"c1","result":"42"})");
  CountingIds ids("m");
  const auto of_host = apply_decision(tree(waiting), decision, 0, ids);
  ASSERT_TRUE(of_host.ok()) << of_host.error().message;
  EXPECT_EQ(last_id(of_host.value()["newState"]), "m1");
  const auto of_run = apply_decision(tree(waiting), decision, 0, ids, ResultIds::by_call);
  ASSERT_TRUE(of_run.ok());
  EXPECT_EQ(last_id(of_run.value()["newState"]), "result-c1");
  EXPECT_EQ(of_run.value()["nextContext"]["payload"]["parentMessageId"].string(), "result-c1");
}

TEST(ResultIds, AreThoseOfTheEventsAlsoOfCallsThatAreAborted) {
  CountingIds ids("m");
  Tree state = tree(waiting);
  abort_waiting(state, "It was cut.", 0, ids, ResultIds::by_call);
  EXPECT_EQ(last_id(state), "result-c1");
}

TEST(ResultIds, AreThoseOfTheClientForItsOwnResults) {
  CountingIds ids("m");
  const Tree rows = tree(R"([{"id":"mine","role":"tool","tool_call_id":"c1","content":"42"}])");
  const auto answered = take_answers(tree(waiting), Tree::array(), rows, 0, ids);
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(last_id(answered.value().state), "mine");
  EXPECT_EQ(answered.value().state["messages"].items().back()["content"].string(), "42");
  EXPECT_EQ(answered.value().state["messages"].items().size(), 3U);
}

}  // namespace
}  // namespace millrace::agent
