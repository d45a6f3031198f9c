// Runs of an agent: what readers hear of its calls, its waits, and what its model reads.
#include "run/session.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/session_rig.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::run {
namespace {

using json::Tree;
using test::calls;
using test::SessionRig;
using test::text_answer;
using test::tree;
using Contents = std::vector<std::string>;

TEST(AgentResults, AreReportedOnceInARunThatEnds) {
  SessionRig rig;
  rig.provider.answers = {calls({{"a", "quick"}, {"b", "quick"}}), text_answer("Done.")};
  rig.tools["quick"]->outcomes = {{"one"}, {"two", true, "broken"}};
  rig.request();
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
  EXPECT_EQ(rig.results["a"], Contents{"one"});
  EXPECT_EQ(rig.results["b"], Contents{"two"});
}

TEST(AgentResults, AreReportedWhenEachCallEnds) {
  SessionRig rig;
  rig.provider.answers = {calls({{"a", "slow"}, {"b", "slow"}}), text_answer("Done.")};
  rig.request();
  rig.settle();
  rig.finish("slow", "b", {"second"});
  rig.settle();
  rig.on_loop([&] {
    EXPECT_EQ(rig.results["b"], Contents{"second"});
    EXPECT_TRUE(rig.results["a"].empty());
  });
  rig.finish("slow", "a", {"first"});
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
  EXPECT_EQ(rig.results["a"], Contents{"first"});
  EXPECT_EQ(rig.results["b"], Contents{"second"});
}

TEST(AgentResults, AreReportedOnceInARunThatIsResumed) {
  SessionRig rig;
  rig.provider.answers = {calls({{"a", "quick"}, {"b", "asked"}}), text_answer("Done.")};
  rig.tools["quick"]->outcomes = {{"one"}};
  rig.request();
  const AgentOutcome waiting = rig.end();
  ASSERT_EQ(waiting.kind, AgentOutcome::Kind::waiting);
  EXPECT_EQ(rig.results["a"], Contents{"one"});
  EXPECT_TRUE(rig.results["b"].empty());
  ASSERT_EQ(waiting.interrupts.items().size(), 1U);

  AgentInput input;
  input.thread_id = "thread";
  input.run_id = "run2";
  input.messages_json = "[]";
  input.resume_json = R"([{"interruptId":")" +
                      std::string(waiting.interrupts.items()[0]["id"].string()) +
                      R"(","status":"resolved","payload":{"approved":true}}])";
  auto task = saved_task(rig.rested_state, rig.rested_context, input, rig.plan(), 0, rig.ids);
  ASSERT_TRUE(task.ok()) << task.error().message;
  rig.tools["asked"]->outcomes = {{"two"}};
  rig.start(std::move(task).value());
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
  EXPECT_TRUE(rig.results["a"].empty());
  EXPECT_EQ(rig.results["b"], Contents{"two"});
}

TEST(AgentResults, AreReportedOnceInARunThatIsStopped) {
  SessionRig rig;
  rig.provider.answers = {calls({{"a", "quick"}, {"b", "slow"}})};
  rig.tools["quick"]->outcomes = {{"one"}};
  rig.request();
  rig.settle();
  std::shared_ptr<tool::ToolHost> late;
  rig.on_loop([&] {
    late = rig.tools["slow"]->open.at("b");
    rig.session->stop();
  });
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::cancelled);
  rig.on_loop([&] { late->finished({"too late"}); });
  EXPECT_EQ(rig.results["a"], Contents{"one"});
  EXPECT_TRUE(rig.results["b"].empty());
}

TEST(AgentResults, AreReportedOnceAfterFurtherAttempts) {
  SessionRig rig;
  rig.provider.answers = {calls({{"a", "quick"}}), text_answer("Done.")};
  tool::ToolOutcome busy{"busy", true, "tool_failed"};
  busy.retry = true;
  rig.tools["quick"]->outcomes = {busy, busy, {"at last"}};
  rig.request();
  rig.settle();
  rig.on_loop([&] {
    EXPECT_EQ(rig.tools["quick"]->started, 1U);
    EXPECT_EQ(rig.clock.waiting(), 1U);
    rig.clock.advance(std::chrono::milliseconds(199));
    EXPECT_EQ(rig.tools["quick"]->started, 1U);
    rig.clock.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(rig.tools["quick"]->started, 2U);
    EXPECT_TRUE(rig.results["a"].empty());
    rig.clock.advance(std::chrono::milliseconds(400));
  });
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
  EXPECT_EQ(rig.tools["quick"]->started, 3U);
  EXPECT_EQ(rig.results["a"], Contents{"at last"});
  EXPECT_EQ(rig.progress,
            (Contents{R"({"retry":1,"error":"busy"})", R"({"retry":2,"error":"busy"})"}));
}

TEST(AgentResults, AreReportedOnceForCallsThatALimitLeavesOpen) {
  SessionRig rig(R"(,"limits":{"maxSteps":1})");
  rig.provider.answers = {calls({{"a", "quick"}}), calls({{"b", "quick"}})};
  rig.tools["quick"]->outcomes = {{"one"}};
  rig.request();
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
  EXPECT_EQ(rig.provider.bodies.size(), 2U);
  EXPECT_EQ(rig.results["a"], Contents{"one"});
  EXPECT_EQ(rig.results["b"].size(), 1U);
}

TEST(AgentWaits, AreOfTheClockThatTheRunIsGiven) {
  SessionRig rig;
  rig.provider.answers = {{"{}", 503}, text_answer("Done.")};
  rig.request();
  rig.settle();
  rig.on_loop([&] {
    EXPECT_EQ(rig.provider.bodies.size(), 1U);
    EXPECT_EQ(rig.clock.waiting(), 1U);
    rig.clock.advance(std::chrono::minutes(1));
    EXPECT_EQ(rig.provider.bodies.size(), 2U);
  });
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
}

TEST(AgentWaits, EndARunWhoseTimeIsOver) {
  SessionRig rig(R"(,"limits":{"maxDurationMs":3600000})");
  rig.provider.answers = {calls({{"a", "slow"}})};
  rig.request();
  rig.settle();
  rig.on_loop([&] { rig.clock.advance(std::chrono::hours(1)); });
  EXPECT_EQ(rig.end().reason, "timeout");
  EXPECT_EQ(rig.results["a"].size(), 1U);
}

TEST(AgentFailure, NamesTheProviderToTheHost) {
  SessionRig rig;
  rig.provider.answers = {{R"({"error":{"message":"no such model","type":"invalid"}})", 404}};
  rig.request();
  const AgentOutcome& outcome = rig.end();
  ASSERT_EQ(outcome.kind, AgentOutcome::Kind::failed);
  ASSERT_TRUE(outcome.failure.has_value());
  const Tree failure = tree(outcome.failure->json);
  EXPECT_EQ(failure["provider"].string(), "openai");
  EXPECT_NE(failure["error"].to_json().find("no such model"), std::string::npos);
  EXPECT_NE(failure["endpoint"].string().find("/chat/completions"), std::string_view::npos);
  const Tree members = tree("{" + outcome.failure->members + "}");
  EXPECT_EQ(members["metadata"]["millrace"]["provider"].string(), "openai");
}

// What is kept of a long conversation reaches the model as what is converted anew.
TEST(AgentTurns, SendTheConversationSoFarAndWhatIsNew) {
  constexpr std::size_t turns = 40;
  SessionRig rig(R"(,"limits":{"maxSteps":1000,"maxRepeats":1000})");
  for (std::size_t turn = 0; turn < turns; ++turn) {
    rig.provider.answers.push_back(calls({{"call" + std::to_string(turn), "quick"}}));
    rig.tools["quick"]->outcomes.push_back({"result \"" + std::to_string(turn) + "\""});
  }
  rig.provider.answers.push_back(text_answer("Done."));
  rig.request();
  EXPECT_EQ(rig.end().kind, AgentOutcome::Kind::finished);
  ASSERT_EQ(rig.provider.bodies.size(), turns + 1);
  Tree before = Tree::array();
  for (std::size_t turn = 0; turn <= turns; ++turn) {
    const Tree messages = tree(rig.provider.bodies[turn])["messages"];
    ASSERT_EQ(messages.items().size(), 1 + 2 * turn);
    for (std::size_t at = 0; at < before.items().size(); ++at) {
      EXPECT_EQ(messages.items()[at], before.items()[at]) << turn << ", " << at;
    }
    if (turn > 0) {
      const Tree& result = messages.items().back();
      EXPECT_EQ(result["tool_call_id"].string(), "call" + std::to_string(turn - 1));
      EXPECT_EQ(result["content"].string(), "result \"" + std::to_string(turn - 1) + "\"");
    }
    before = messages;
  }
}

TEST(AgentSession, WarnsOfStateThatAClientMayNotGive) {
  test::SessionRig rig;
  const std::string body =
      R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"Go."},)"
      R"({"id":"a","role":"assistant","content":"x","metadata":{"millrace":{"providerState":[)"
      R"({"provider":"anthropic","kind":"container","state":{"id":"stolen"}}]}}},)"
      R"({"id":"v","role":"user","content":"Go on."}]})";
  InputOptions options;
  options.from_client = true;
  auto input = read_agent_input(body, options, rig.ids);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input.value().withheld.count, 1U);
  EXPECT_EQ(input.value().messages_json.find("stolen"), std::string::npos);
  rig.provider.answers = {test::text_answer("Hello.")};
  auto task = SuspendedRuns().task_for(input.value(), rig.plan(), 0, rig.ids);
  ASSERT_TRUE(task.ok());
  rig.start(std::move(task).value());
  rig.end();
  ASSERT_EQ(rig.warnings.size(), 1U);
  EXPECT_NE(rig.warnings[0].find("left out"), std::string::npos);
}

}  // namespace
}  // namespace millrace::run
