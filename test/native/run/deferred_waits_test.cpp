// Runs that wait for their client in front of an approval, and answers that are taken up late.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "durable_rig.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using test::calls;
using test::DurableRig;
using test::text_answer;

constexpr std::string_view client_tools =
    R"([{"name":"place","description":"p","parameters":{"type":"object"}}])";
constexpr std::chrono::hours longer_than_a_week{24 * 8};

class DeferredWaits : public testing::Test {
 protected:
  Result<FoundRun> open(const std::string& ag_ui_run, const std::string& messages,
                        const std::string& resume = "") {
    StartRequest request;
    request.name = "agent";
    request.principal = "local";
    request.input.thread_id = "thread";
    request.input.run_id = ag_ui_run;
    request.input.body_hash = ag_ui_run;
    request.input.messages_json = messages;
    request.input.tools_json = client_tools;
    request.input.resume_json = resume;
    return rig.request<FoundRun>([&](RunRequests& requests, auto done) {
      requests.open(std::move(request), std::move(done));
    });
  }
  // A run whose model calls a tool of the client beside one that needs an approval.
  void wait_for_client() {
    auto opened = open("r1", question);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    run = opened.value().run;
    wait_for(RunState::waiting);
  }
  void wait_for(RunState state) {
    while (rig.state_of(run) != state) continue;
  }
  store::RunRow row() {
    store::RunRow found;
    rig.on_store([&](store::StorageBackend& backend) { found = *backend.run(run).value(); });
    return found;
  }
  // The upkeep of a process, once.
  void sweep() {
    rig.on_store([](store::StorageBackend& backend) { EXPECT_TRUE(backend.sweep({}).ok()); });
    rig.on_loop([&] { rig.runs->recover(); });
  }
  void pass(std::chrono::milliseconds time) {
    rig.store_ms += time.count();
    rig.on_loop([&] { rig.clock.advance(time); });
  }
  std::string open_approval() {
    std::string id;
    rig.on_store([&](store::StorageBackend& backend) {
      const auto open = backend.approvals({"local", run, true});
      if (!open.value().empty()) id = open.value().front().id;
    });
    return id;
  }
  static std::string approving(const std::string& id) {
    return R"([{"interruptId":")" + id + R"(","status":"resolved","payload":{"approved":true}}])";
  }

  const std::string question = R"([{"id":"u","role":"user","content":"Go."}])";
  DurableRig rig;
  store::RunId run;
};

TEST_F(DeferredWaits, GoOnWithWhatTheClientSends) {
  rig.provider.answers = {calls({{"a", "place"}, {"b", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  wait_for_client();
  EXPECT_TRUE(row().run.deadline);
  EXPECT_EQ(open_approval(), "");
  const auto next = open("r2", R"([{"id":"u","role":"user","content":"Go."},)"
                               R"({"id":"t","role":"tool","toolCallId":"a","content":"here"}])");
  ASSERT_TRUE(next.ok()) << next.error().message;
  while (open_approval().empty()) continue;
  wait_for(RunState::waiting);
  EXPECT_FALSE(row().run.deadline);
  ASSERT_TRUE(open("r3", "[]", approving(open_approval())).ok());
  wait_for(RunState::completed);
  EXPECT_NE(rig.provider.bodies.back().find("here"), std::string::npos);
}

TEST_F(DeferredWaits, GoOnWithoutAClientThatSendsNothing) {
  rig.provider.answers = {calls({{"a", "place"}, {"b", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  wait_for_client();
  const std::int64_t deadline = row().run.deadline.value_or(0);
  EXPECT_EQ(deadline, DurableRig::start_ms + usual_approval_ms);
  const auto reader = rig.attach(run, 0);
  pass(std::chrono::milliseconds(usual_approval_ms - 1));
  sweep();
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  pass(std::chrono::milliseconds(1));
  sweep();
  while (open_approval().empty()) continue;
  wait_for(RunState::waiting);
  ASSERT_TRUE(open("r2", "[]", approving(open_approval())).ok());
  wait_for(RunState::completed);
  const auto all = rig.read(run, 0);
  ASSERT_EQ(all->results["a"].size(), 1U);
  EXPECT_NE(all->results["a"][0].find("did not send"), std::string::npos);
  EXPECT_NE(rig.provider.bodies.back().find("did not send"), std::string::npos);
  EXPECT_EQ(rig.tools["send"]->started, 1U);
}

// What the user answered before is no reason to go on.
TEST_F(DeferredWaits, StayBehindEarlierApprovals) {
  rig.provider.answers = {calls({{"x", "send"}}), calls({{"a", "place"}, {"b", "send"}}),
                          text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}, {"sent"}};
  wait_for_client();
  ASSERT_TRUE(open("r2", "[]", approving(open_approval())).ok());
  while (!row().run.deadline) continue;
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  const std::uint64_t last = row().last;
  for (int time = 0; time < 3; ++time) {
    rig.on_loop([&] { rig.runs->recover(); });
    EXPECT_EQ(rig.state_of(run), RunState::waiting);
  }
  EXPECT_EQ(row().last, last);
}

// A process that was down for long takes up what was decided in time.
TEST_F(DeferredWaits, TakeAnswersThatWereGivenInTime) {
  rig.provider.answers = {calls({{"b", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  wait_for_client();
  rig.on_store([&](store::StorageBackend& backend) {
    store::Decision decision;
    decision.approval = backend.approvals({"local", run, true}).value().at(0).id;
    decision.principal = "local";
    decision.decision = R"({"interruptId":")" + decision.approval +
                        R"(","status":"resolved","payload":{"approved":true}})";
    EXPECT_EQ(backend.decide(decision).value().status, store::DecisionStatus::decided);
  });
  rig.crash(longer_than_a_week);
  sweep();
  wait_for(RunState::completed);
  EXPECT_EQ(rig.tools["send"]->started, 1U);
}

}  // namespace
}  // namespace millrace::run
