#include "run/suspended_runs.hpp"

#include <gtest/gtest.h>

#include "agent/approval/approvals.hpp"
#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "run/plan.hpp"

using namespace millrace;
using json::Tree;

namespace {

Tree parse(std::string_view json) {
  auto tree = Tree::parse(json);
  EXPECT_TRUE(tree.ok()) << json;
  return tree ? std::move(tree).value() : Tree();
}

// A run that asks whether one call may run, and the id of the question.
Tree waiting_state(IdSource& ids, std::string& question) {
  Tree state = agent::initial_state(Tree::object(), 0);
  state.set("status", "waiting_for_human");
  Tree calls =
      parse(R"([{"id":"c1","identifier":"mail","apiName":"mail","arguments":"{\"to\":\"ada\"}"}])");
  agent::open_approvals(state, calls);
  state.set("pendingToolsCalling", std::move(calls));
  const Tree interrupts = agent::open_interrupts(state, 0, ids);
  EXPECT_EQ(interrupts.items().size(), 1U);
  question = interrupts.items().front()["id"].string();
  return state;
}

run::AgentInput answer(const std::string& id, const std::string& payload,
                       const std::string& thread = "t") {
  run::AgentInput input;
  input.thread_id = thread;
  input.run_id = "r2";
  input.messages_json = "[]";
  input.resume_json =
      R"([{"interruptId":")" + id + R"(","status":"resolved","payload":)" + payload + "}]";
  return input;
}

class SuspendedRunsTest : public ::testing::Test {
 protected:
  void SetUp() override { retained.keep("t", waiting_state(ids, question), plan, 0); }

  Errc code_of(const run::AgentInput& input, std::int64_t now = 1) {
    auto task = retained.task_for(input, plan, now, ids);
    return task ? Errc::internal : task.error().code;
  }

  CountingIds ids{"id-"};
  run::AgentPlan plan;
  run::SuspendedRuns retained;
  std::string question;
};

TEST_F(SuspendedRunsTest, GoesOnWithAnAnswerOnce) {
  auto task = retained.task_for(answer(question, R"({"approved":true})"), plan, 1, ids);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().context["phase"].string(), "human_approved_tool");
  EXPECT_EQ(task.value().run_id, "r2");
  EXPECT_FALSE(retained.holds("t"));
  EXPECT_EQ(code_of(answer(question, R"({"approved":true})")), Errc::approval_answered);
}

TEST_F(SuspendedRunsTest, RefusesWhatWasNotAskedAndKeepsTheQuestion) {
  EXPECT_EQ(code_of(answer("made-up", R"({"approved":true})")), Errc::approval_mismatch);
  EXPECT_EQ(code_of(answer(question, R"({"approved":true})", "other")), Errc::approval_mismatch);
  EXPECT_EQ(code_of(answer(question, R"({"approved":true,"arguments":{"to":"eve"}})")),
            Errc::approval_mismatch);
  EXPECT_EQ(code_of(answer(question, R"({"approved":true,"hash":"0"})")), Errc::approval_mismatch);
  EXPECT_EQ(code_of(answer(question, R"({"approved":1})")), Errc::invalid_argument);
  EXPECT_EQ(code_of(answer(question, "null")), Errc::invalid_argument);
  EXPECT_TRUE(retained.task_for(answer(question, R"({"approved":true})"), plan, 1, ids).ok());
}

TEST_F(SuspendedRunsTest, PassesOverAnswersToOtherQuestions) {
  run::AgentInput input = answer(question, R"({"approved":true})");
  input.resume_json.insert(1, R"({"interruptId":"made-up","status":"resolved"},)");
  auto task = retained.task_for(input, plan, 1, ids);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().context["phase"].string(), "human_approved_tool");
  EXPECT_EQ(task.value().unmatched, std::vector<std::string>{"made-up"});
  // What was passed over is not taken for answered.
  EXPECT_EQ(code_of(answer("made-up", R"({"approved":true})")), Errc::approval_mismatch);
}

TEST_F(SuspendedRunsTest, BeginsAnewBesideAnswersThatNothingWaitsFor) {
  const std::string message = R"([{"id":"u","role":"user","content":"Go on."}])";
  run::AgentInput input = answer("made-up", R"({"approved":true})", "other");
  input.resume_json.insert(input.resume_json.size() - 1, R"(,{"interruptId":"made-up"})");
  input.messages_json = message;
  auto task = retained.task_for(input, plan, 1, ids);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().unmatched, std::vector<std::string>{"made-up"});
  EXPECT_TRUE(task.value().state.is_null());
  ASSERT_EQ(task.value().state_messages.items().size(), 1U);
  // The question that waits is not passed over.
  input.thread_id = "t";
  EXPECT_EQ(code_of(input), Errc::approval_mismatch);
  input = answer(question, R"({"approved":true})");
  ASSERT_TRUE(retained.task_for(input, plan, 1, ids).ok());
  input.messages_json = message;
  EXPECT_EQ(code_of(input), Errc::approval_answered);
}

TEST_F(SuspendedRunsTest, TellsARefusalAsAResult) {
  auto task =
      retained.task_for(answer(question, R"({"approved":false,"reason":"no time"})"), plan, 1, ids);
  ASSERT_TRUE(task.ok());
  ASSERT_EQ(task.value().results.size(), 1U);
  EXPECT_EQ(task.value().results.front().first, "c1");
  EXPECT_NE(task.value().results.front().second.find("no time"), std::string::npos);
}

TEST_F(SuspendedRunsTest, AsksAnewWhereTheToolHasChanged) {
  plan.manifests = parse(R"({"mail":{"identifier":"mail","description":"Another one."}})");
  auto task = retained.task_for(answer(question, R"({"approved":true})"), plan, 1, ids);
  ASSERT_TRUE(task.ok());
  // The question that is asked next has another id, and names the one before.
  Tree state = task.value().state;
  EXPECT_EQ(state["status"].string(), "waiting_for_human");
  const Tree interrupts = agent::open_interrupts(state, 1, ids);
  ASSERT_EQ(interrupts.items().size(), 1U);
  const Tree& again = interrupts.items().front();
  EXPECT_EQ(again["metadata"]["supersedes"].string(), question);
  const std::string second(again["id"].string());
  EXPECT_NE(second, question);
  retained.keep("t", state, plan, 1);
  EXPECT_EQ(code_of(answer(question, R"({"approved":true})")), Errc::approval_answered);
  task = retained.task_for(answer(second, R"({"approved":true})"), plan, 1, ids);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().context["phase"].string(), "human_approved_tool");
}

TEST_F(SuspendedRunsTest, LetsACallOfAToolThatWasRemovedFailByItself) {
  plan.manifests = parse(R"({"mail":{"identifier":"mail"}})");
  retained.keep("t", waiting_state(ids, question), plan, 0);
  plan.manifests = Tree::object();
  auto task = retained.task_for(answer(question, R"({"approved":true})"), plan, 1, ids);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().context["phase"].string(), "human_approved_tool");
}

TEST_F(SuspendedRunsTest, TakesADenialOfACallWhoseToolHasChanged) {
  plan.manifests = parse(R"({"mail":{"identifier":"mail","description":"Another one."}})");
  auto task = retained.task_for(answer(question, R"({"approved":false})"), plan, 1, ids);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().results.size(), 1U);
}

TEST_F(SuspendedRunsTest, ForgetsAfterAnHour) {
  EXPECT_EQ(code_of(answer(question, R"({"approved":true})"), 3'600'001), Errc::approval_mismatch);
  EXPECT_FALSE(retained.holds("t"));
  EXPECT_EQ(retained.bytes(), 0U);
}

TEST(SuspendedRuns, GivesUpTheOldestWhenThereAreTooMany) {
  CountingIds ids("id-");
  const run::AgentPlan plan{};
  run::SuspendedRuns retained({2, std::size_t{1} << 20U, 1000});
  std::string question;
  for (const char* thread : {"a", "b", "c"})
    retained.keep(thread, waiting_state(ids, question), plan, 0);
  EXPECT_FALSE(retained.holds("a"));
  EXPECT_TRUE(retained.holds("b") && retained.holds("c"));
  run::SuspendedRuns small({10, 10, 1000});
  small.keep("a", waiting_state(ids, question), plan, 0);
  small.keep("b", waiting_state(ids, question), plan, 0);
  EXPECT_FALSE(small.holds("a"));
  EXPECT_TRUE(small.holds("b"));
}

TEST(Interrupts, KeepTheirIdsWhileTheyAreOpen) {
  CountingIds ids("id-");
  std::string question;
  Tree state = waiting_state(ids, question);
  EXPECT_EQ(agent::open_interrupts(state, 5, ids).items().front()["id"].string(), question);
}

TEST(AgentPlan, SaysWhoIsAskedByPolicy) {
  const auto policy = [](const char* approval, const char* effect) {
    const auto plan = run::read_agent_plan(
        R"({"chain":[{"provider":"demo","baseURL":"http://127.0.0.1:1","model":"m"}],"approval":")" +
            std::string(approval) + R"(","tools":[{"name":"f","effect":")" + effect + R"("}]})",
        {tool::Registry()});
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    return std::string(plan.value()->manifests["f"]["humanIntervention"].string());
  };
  EXPECT_EQ(policy("tools", "once"), "never");
  EXPECT_EQ(policy("risky", "once"), "required");
  EXPECT_EQ(policy("risky", "keyed"), "required");
  EXPECT_EQ(policy("risky", "read"), "never");
  EXPECT_EQ(policy("always", "read"), "required");
  EXPECT_EQ(policy("never", "once"), "never");
}

TEST(AgentPlan, RefusesWhatItDoesNotKnow) {
  for (
      const char* json :
      {R"({})", R"([])", R"({"chain":[]})",
       R"({"chain":[{"provider":"demo","baseURL":"http://127.0.0.1:1"}],"approval":"maybe"})",
       R"({"chain":[{"provider":"demo","baseURL":"http://127.0.0.1:1"}],"builtin":["none"]})",
       R"({"chain":[{"provider":"demo","baseURL":"http://127.0.0.1:1"}],"tools":[{"name":"a b"}]})",
       R"({"chain":[{"provider":"demo","baseURL":"http://127.0.0.1:1"}],"tools":[{"name":"f","effect":"x"}]})"}) {
    EXPECT_FALSE(run::read_agent_plan(json, {tool::Registry()}).ok()) << json;
  }
}

}  // namespace
