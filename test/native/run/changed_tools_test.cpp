// Consent is to the tool that the user was shown: for another one, the user is asked anew.
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "durable_rig.hpp"
#include "run/durable/consent.hpp"
#include "run/plan.hpp"
#include "store/sqlite/sqlite_backend.hpp"
#include "store/store_folder.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::calls;
using test::DurableRig;
using test::text_answer;

// The plan with other descriptions of its tools, and of those of its agents.
std::shared_ptr<const AgentPlan> changed(const AgentPlan& plan) {
  auto made = std::make_shared<AgentPlan>(plan);
  for (Tree& definition : made->definitions.items()) {
    definition.at("function").set("description", "Sends it to somebody else.");
  }
  for (SubAgent& agent : made->sub_agents) agent.plan = changed(*agent.plan);
  return made;
}

std::string decided(const std::string& interrupt, const std::string& payload) {
  return R"({"interruptId":")" + interrupt + R"(","status":"resolved","payload":)" + payload + "}";
}

class ChangedTools : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::unique_ptr<store::StorageBackend> stored;
    if (GetParam()) {
      store::SqliteOptions options;
      options.path = folder.file();
      options.clock = [] { return DurableRig::start_ms; };
      stored = std::move(store::open_sqlite_backend(options)).value();
    }
    rig = std::make_unique<DurableRig>("", "", std::move(stored));
    rig->tools["send"]->always = tool::ToolOutcome{"sent"};
  }
  void TearDown() override { rig.reset(); }

  std::shared_ptr<test::RecordLog> wait_for_user(std::deque<test::ModelAnswer> answers) {
    rig->provider.answers = std::move(answers);
    run = rig->start("Go.");
    auto reader = rig->read(run, 0);
    EXPECT_EQ(rig->state_of(run), RunState::waiting);
    return reader;
  }
  void change_tools() {
    rig->agent.plan = changed(*rig->agent.plan);
    rig->crash();
  }
  std::vector<store::ApprovalRow> approvals(bool open_only) {
    std::vector<store::ApprovalRow> rows;
    rig->on_store([&](store::StorageBackend& backend) {
      rows = backend.approvals({"local", run, open_only}).value();
    });
    return rows;
  }
  std::string answer(const std::string& entry) {
    const std::string reader = "reader-" + std::to_string(++readers);
    const auto given = rig->answer(run, "[" + entry + "]", "local", reader);
    return given ? "" : given.error().message;
  }

  store::StoreFolder folder;
  std::unique_ptr<DurableRig> rig;
  store::RunId run;
  int readers = 1;
  const std::string yes = R"({"approved":true})";
};

TEST_P(ChangedTools, HaveTheUserAskedAnew) {
  const auto first = wait_for_user({calls({{"a", "send"}}), text_answer("Sent.")});
  change_tools();
  const std::string& old = first->interrupts.at(0);
  ASSERT_EQ(answer(decided(old, yes)), "");
  const auto second = rig->read(run, first->seqs.back());
  ASSERT_EQ(second->interrupts.size(), 1U);
  const std::string& next = second->interrupts.at(0);
  EXPECT_NE(next, old);
  EXPECT_EQ(rig->state_of(run), RunState::waiting);
  EXPECT_EQ(rig->tools["send"]->started, 0U);
  const auto open = approvals(true);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].id, next);
  EXPECT_EQ(open[0].call, "a");
  const auto shown = Tree::parse(open[0].shown).value();
  EXPECT_EQ(shown["metadata"]["supersedes"].string(), old);
  EXPECT_NE(shown["message"].string().find("has changed"), std::string_view::npos);
  for (const store::ApprovalRow& row : approvals(false)) {
    if (row.id != old) continue;
    EXPECT_NE(row.tools_hash, open[0].tools_hash);
    EXPECT_EQ(Tree::parse(row.decision).value()["status"].string(), "superseded");
  }
  EXPECT_NE(answer(decided(old, yes)).find("has changed"), std::string::npos);
  ASSERT_EQ(answer(decided(next, yes)), "");
  EXPECT_EQ(rig->read(run, second->seqs.back())->text, "Sent.");
  EXPECT_EQ(rig->tools["send"]->started, 1U);
  rig->on_store([](store::StorageBackend& backend) {
    const auto problems = backend.check();
    EXPECT_TRUE(problems.ok() && problems.value().empty());
  });
}

TEST_P(ChangedTools, LetADenialCount) {
  const auto first = wait_for_user({calls({{"a", "send"}}), text_answer("Not sent.")});
  change_tools();
  ASSERT_EQ(answer(decided(first->interrupts.at(0), R"({"approved":false})")), "");
  EXPECT_EQ(rig->read(run, first->seqs.back())->text, "Not sent.");
  EXPECT_EQ(rig->tools["send"]->started, 0U);
}

// As a command on a store does.
TEST_P(ChangedTools, HaveTheUserAskedAnewWhoAnsweredWithoutTheAgent) {
  const auto first = wait_for_user({calls({{"a", "send"}}), text_answer("Sent.")});
  rig->on_store([&](store::StorageBackend& backend) {
    store::Decision decision;
    decision.approval = first->interrupts.at(0);
    decision.principal = decision.by = "local";
    decision.decision = decided(decision.approval, yes);
    ASSERT_EQ(backend.decide(decision).value().status, store::DecisionStatus::decided);
  });
  change_tools();
  const auto second = rig->read(run, first->seqs.back());
  ASSERT_EQ(second->interrupts.size(), 1U);
  EXPECT_NE(second->interrupts.at(0), first->interrupts.at(0));
  EXPECT_EQ(rig->tools["send"]->started, 0U);
  ASSERT_EQ(answer(decided(second->interrupts.at(0), yes)), "");
  EXPECT_EQ(rig->read(run, second->seqs.back())->text, "Sent.");
}

// Also of a call whose question stayed open while another one was answered.
TEST_P(ChangedTools, AreThoseThatTheUserSaw) {
  const auto first = wait_for_user({calls({{"a", "send"}, {"b", "send"}}), text_answer("Done.")});
  ASSERT_EQ(first->interrupts.size(), 2U);
  change_tools();
  ASSERT_EQ(answer(decided(first->interrupts.at(0), R"({"approved":false})")), "");
  const auto second = rig->read(run, first->seqs.back());
  const std::string& open = first->interrupts.at(1);
  ASSERT_EQ(second->interrupts, std::vector<std::string>{open});
  rig->on_store([](store::StorageBackend& backend) {
    const auto problems = backend.check();
    EXPECT_TRUE(problems.ok() && problems.value().empty());
  });
  rig->crash();
  ASSERT_EQ(answer(decided(open, yes)), "");
  const auto third = rig->read(run, second->seqs.back());
  ASSERT_EQ(third->interrupts.size(), 1U);
  EXPECT_NE(third->interrupts.at(0), open);
  EXPECT_EQ(rig->tools["send"]->started, 0U);
  ASSERT_EQ(answer(decided(third->interrupts.at(0), yes)), "");
  EXPECT_EQ(rig->read(run, third->seqs.back())->text, "Done.");
  EXPECT_EQ(rig->tools["send"]->started, 1U);
}

TEST_P(ChangedTools, OfAnAgentThatTheRunCalled) {
  const auto first = wait_for_user({calls({{"h", "helper"}}), calls({{"s", "send"}}),
                                    text_answer("Helped."), text_answer("Done.")});
  change_tools();
  ASSERT_EQ(answer(decided(first->interrupts.at(0), yes)), "");
  const auto second = rig->read(run, first->seqs.back());
  ASSERT_EQ(second->interrupts.size(), 1U);
  EXPECT_NE(second->interrupts.at(0), first->interrupts.at(0));
  EXPECT_EQ(rig->tools["send"]->started, 0U);
  rig->crash();
  ASSERT_EQ(answer(decided(second->interrupts.at(0), yes)), "");
  EXPECT_EQ(rig->read(run, second->seqs.back())->text, "Done.");
  EXPECT_EQ(rig->tools["send"]->started, 1U);
}

INSTANTIATE_TEST_SUITE_P(Backends, ChangedTools, testing::Bool(), [](const auto& with) {
  return std::string(with.param ? "Sqlite" : "Memory");
});

TEST(Consent, CountsForACallWhoseToolIsGone) {
  const DurableRig rig;
  AgentPlan plan(*rig.agent.plan);
  const Tree state =
      Tree::parse(R"({"pendingToolsCalling":[{"id":"a","apiName":"send"}]})").value();
  EXPECT_TRUE(has_other_tool(state, plan, "a", "another"));
  EXPECT_FALSE(has_other_tool(state, plan, "a", ""));
  std::erase_if(plan.definitions.items(), [](const Tree& definition) {
    return definition["function"]["name"].string() == "send";
  });
  plan.manifests.erase("send");
  EXPECT_FALSE(has_other_tool(state, plan, "a", "another"));
}

}  // namespace
}  // namespace millrace::run
