// What an agent has its runs do: whose last reader leaves, and how long the user has for an answer.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "durable_rig.hpp"
#include "run/durable/run_upkeep.hpp"

namespace millrace::run {
namespace {

using journal::OnDisconnect;
using journal::RunState;
using test::DurableRig;
using test::text_answer;

test::ModelAnswer halfway(const std::string& text) {
  const std::string delta = R"({"role":"assistant","content":")" + text + R"("})";
  return {test::chat_record(delta, "null"), 200, true};
}

void reach(DurableRig& rig, const store::RunId& run, RunState state) {
  while (rig.state_of(run) != state) {
  }
}

// A run whose model has given a part of its answer.
Result<FoundRun> begin_wanting(DurableRig& rig, const std::string& name, OnDisconnect wanted) {
  StartRequest request;
  request.name = "agent";
  request.principal = "local";
  request.input.thread_id = "thread of " + name;
  request.input.run_id = name;
  request.input.messages_json = R"([{"id":"u","role":"user","content":"Go."}])";
  request.on_disconnect = wanted;
  return rig.request<FoundRun>([&](RunRequests& requests, auto done) {
    requests.open(std::move(request), std::move(done));
  });
}

// Its only reader comes and goes.
void come_and_go(DurableRig& rig, const store::RunId& run) {
  const auto reader = rig.attach(run, 0);
  rig.on_loop([&] {
    const auto hub = rig.hubs.back();
    hub->detach(*reader);
    rig.requests->left(*hub, run);
  });
}

TEST(RunPolicies, StopALeftRunThatWantsItMoreThanItsAgent) {
  for (const bool agent_stops : {false, true}) {
    for (const OnDisconnect wanted :
         {OnDisconnect::unset, OnDisconnect::go_on, OnDisconnect::stop}) {
      DurableRig rig;
      rig.agent.stops_left = agent_stops;
      rig.on_loop([&] { rig.runs->add("agent", rig.agent); });
      rig.provider.answers = {halfway("Hel"), halfway("Hel")};
      const auto opened = begin_wanting(rig, "r1", wanted);
      ASSERT_TRUE(opened.ok());
      const store::RunId run = opened.value().run;
      const bool is_stopped =
          wanted == OnDisconnect::stop || (wanted == OnDisconnect::unset && agent_stops);
      come_and_go(rig, run);
      if (is_stopped) {
        reach(rig, run, RunState::cancelled);
        continue;
      }
      // Behind a stop, which would have come first.
      const auto other = begin_wanting(rig, "r2", OnDisconnect::stop);
      ASSERT_TRUE(other.ok());
      come_and_go(rig, other.value().run);
      reach(rig, other.value().run, RunState::cancelled);
      EXPECT_EQ(rig.state_of(run), RunState::running);
    }
  }
}

TEST(RunPolicies, StopALeftRunAsItWantedInAnEarlierProcess) {
  DurableRig rig;
  rig.provider.answers = {halfway("Hel"), halfway("Hel")};
  const auto opened = begin_wanting(rig, "r1", OnDisconnect::stop);
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  rig.crash();
  // Taken over, it works on.
  bool is_at_work = false;
  while (!is_at_work) rig.on_loop([&] { is_at_work = rig.runs->works_on(run); });
  come_and_go(rig, run);
  reach(rig, run, RunState::cancelled);
}

TEST(RunPolicies, StopNoRunThatWorksForAJob) {
  DurableRig rig;
  rig.agent.stops_left = true;
  rig.on_loop([&] { rig.runs->add("agent", rig.agent); });
  rig.provider.answers = {halfway("Hel")};
  StartRequest request;
  request.name = "agent";
  request.principal = "local";
  request.lane = store::Lane::inner;
  request.input.run_id = "r1";
  request.input.messages_json = R"([{"id":"u","role":"user","content":"Go."}])";
  const auto opened = rig.request<FoundRun>([&](RunRequests& requests, auto done) {
    requests.open(std::move(request), std::move(done));
  });
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened.value().hub->stops_when_left());
}

TEST(RunPolicies, EndAnApprovalWhenTheTimeOfItsAgentIsOver) {
  constexpr std::int64_t limit_ms = 90'000;
  DurableRig rig;
  rig.agent.approval_ms = limit_ms;
  rig.on_loop([&] { rig.runs->add("agent", rig.agent); });
  rig.provider.answers = {test::calls({{"a", "send"}}), text_answer("Not sent.")};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  reach(rig, run, RunState::waiting);
  rig.on_store([&](store::StorageBackend& backend) {
    const auto approvals = backend.approvals({"local", run, true});
    ASSERT_EQ(approvals.value().size(), 1U);
    EXPECT_EQ(approvals.value()[0].expires, DurableRig::start_ms + limit_ms);
  });
  const auto look_at = [&](std::int64_t after_ms) {
    std::shared_ptr<RunUpkeep> upkeep;
    rig.on_loop([&] {
      rig.clock.advance(std::chrono::milliseconds{after_ms});
      upkeep = std::make_shared<RunUpkeep>(rig.loop, rig.writer, rig.runs);
      upkeep->start();
    });
    return upkeep;
  };
  rig.store_ms = DurableRig::start_ms + limit_ms - 1;
  auto upkeep = look_at(limit_ms - 1);
  rig.on_store([](store::StorageBackend&) {});
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  rig.on_loop([&] { upkeep.reset(); });
  rig.store_ms += 1;
  upkeep = look_at(1);
  while (!journal::is_over(rig.state_of(run))) {
  }
  EXPECT_EQ(rig.tools["send"]->started, 0U);
  rig.on_loop([&] { upkeep.reset(); });
}

}  // namespace
}  // namespace millrace::run
