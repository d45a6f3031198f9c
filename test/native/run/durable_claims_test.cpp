// Claims of recorded runs that lead to nothing: the run is given back, and goes on once it can.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "durable_rig.hpp"
#include "run/durable/run_upkeep.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using test::calls;
using test::chat_record;
using test::DurableRig;
using test::text_answer;

const Error unreadable = make_error(Errc::store_damaged, "A page is damaged.");

test::ModelAnswer cut_short(const std::string& text) {
  return {chat_record(R"({"role":"assistant","content":")" + text + R"("})", "null"), 200, true};
}

class DurableClaims : public testing::Test {
 protected:
  // A run that waits for the user, and what the user answers.
  void wait_for_user() {
    rig.provider.answers = {calls({{"a", "send"}}), text_answer("Sent.")};
    rig.tools["send"]->outcomes = {{"sent"}};
    run = rig.start("Go.");
    const auto reader = rig.read(run, 0);
    resume = R"([{"interruptId":")" + reader->interrupts.at(0) +
             R"(","status":"resolved","payload":{"approved":true}}])";
  }
  void damage(const std::optional<Error>& error) {
    rig.on_store([&](store::StorageBackend&) { rig.disk->damage(error); });
  }
  // The store takes nothing, or everything again.
  void set_full(bool is_full) {
    rig.on_store(
        [&](store::StorageBackend&) { is_full ? rig.disk->cut(0, true) : rig.disk->restore(); });
  }
  Result<std::string> stop() {
    return rig.request<std::string>([&](RunRequests& requests, auto done) {
      requests.stop(run.text(), "local", "", "enough", std::move(done));
    });
  }
  void wait_for(RunState state) {
    while (rig.state_of(run) != state) continue;
  }
  std::string owner() {
    std::string name;
    rig.on_store(
        [&](store::StorageBackend& backend) { name = backend.run(run).value()->run.owner; });
    return name;
  }
  bool is_lost() {
    bool lost = false;
    rig.on_loop([&] { lost = rig.runs->lost_reasons().contains(run); });
    return lost;
  }

  DurableRig rig;
  store::RunId run;
  std::string resume;
};

TEST_F(DurableClaims, GiveARunBackThatCannotBeReadWhenItIsAnswered) {
  wait_for_user();
  damage(unreadable);
  const auto answered = rig.answer(run, resume);
  EXPECT_EQ(answered.error().code, Errc::store_damaged);
  EXPECT_NE(answered.error().message.find("A new message in its thread"), std::string::npos);
  wait_for(RunState::parked);
  EXPECT_EQ(owner(), "");
}

// It does not come to wait by itself: nobody waits for that.
TEST_F(DurableClaims, GiveNoAnswerToARunThatIsParked) {
  wait_for_user();
  damage(unreadable);
  ASSERT_FALSE(rig.answer(run, resume).ok());
  wait_for(RunState::parked);
  const auto begun = std::chrono::steady_clock::now();
  const auto again = rig.answer(run, resume);
  EXPECT_EQ(again.error().code, Errc::store_damaged);
  EXPECT_NE(again.error().message.find("A new message in its thread"), std::string::npos);
  EXPECT_EQ(rig.open_run("r3", "", "", resume).error().code, Errc::store_damaged);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

// Nothing else would ever end it, and its thread would stay busy.
TEST_F(DurableClaims, EndADamagedRunThatIsStopped) {
  wait_for_user();
  damage(unreadable);
  ASSERT_TRUE(stop().ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(owner(), "");
  rig.on_store([&](store::StorageBackend& backend) {
    const auto calls = backend.calls(run);
    for (const store::CallRow& call : calls.value()) {
      EXPECT_TRUE(journal::is_over(call.state)) << call.call;
    }
    EXPECT_TRUE(backend.approvals({"local", run, true}).value().empty());
  });
}

TEST_F(DurableClaims, GiveARunBackThatCannotBeReadWhenItIsStopped) {
  wait_for_user();
  damage(make_error(Errc::store_failed, "The disk does not answer."));
  EXPECT_EQ(stop().error().code, Errc::store_failed);
  EXPECT_EQ(rig.state_of(run), RunState::parked);
  EXPECT_EQ(owner(), "");
  damage(std::nullopt);
  ASSERT_TRUE(stop().ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
}

TEST_F(DurableClaims, ParkARunWhoseCheckpointIsDamaged) {
  wait_for_user();
  rig.on_store([&](store::StorageBackend& backend) {
    store::Decision decision;
    decision.approval = backend.approvals({"local", run, true}).value().at(0).id;
    decision.principal = "local";
    decision.decision = "{}";
    EXPECT_TRUE(backend.decide(decision).ok());
    rig.disk->damage_checkpoints(true);
  });
  rig.on_loop([&] { rig.runs->recover(); });
  wait_for(RunState::parked);
  rig.on_store([&](store::StorageBackend& backend) {
    EXPECT_EQ(backend.run(run).value()->head, "store_damaged");
    rig.disk->damage_checkpoints(false);
  });
  EXPECT_EQ(rig.tools["send"]->started, 0U);
  rig.store_ms += 60'000;
  rig.on_loop([&] { rig.runs->recover(); });
  while (!journal::is_over(rig.state_of(run))) continue;
}

// The results of its calls are in the journal, and no call is made again.
TEST_F(DurableClaims, GoOnFromACheckpointBeforeCalls) {
  for (const bool are_lost : {true, false}) {
    SCOPED_TRACE(are_lost ? "missing" : "damaged");
    DurableRig own;
    own.provider.answers = {calls({{"a", "pay"}, {"b", "look"}}), cut_short("Do"),
                            text_answer("Done.")};
    own.tools["pay"]->outcomes = {{"paid"}};
    own.tools["look"]->outcomes = {{"seen"}};
    const store::RunId id = own.start("Go.");
    const auto before = own.attach(id, 0);
    for (bool shown = false; !shown;) own.on_loop([&] { shown = before->text == "Do"; });
    own.on_store([&](store::StorageBackend&) {
      are_lost ? own.disk->lose_checkpoints(true) : own.disk->damage_last_checkpoints(true);
    });
    own.crash();
    const auto whole = own.read(id, 0);
    own.on_store([&](store::StorageBackend& backend) {
      own.disk->lose_checkpoints(false);
      own.disk->damage_last_checkpoints(false);
      EXPECT_TRUE(backend.check().value().empty());
    });
    EXPECT_EQ(own.state_of(id), RunState::completed);
    EXPECT_EQ(whole->text, "Done.");
    EXPECT_EQ(whole->resets, 1U);
    EXPECT_EQ(whole->warnings, std::vector<std::string>{"store_damaged"});
    EXPECT_EQ(whole->results["a"], std::vector<std::string>{"paid"});
    EXPECT_EQ(whole->results["b"], std::vector<std::string>{"seen"});
    EXPECT_EQ(own.tools["pay"]->started, 1U);
    EXPECT_EQ(own.tools["look"]->started, 1U);
    ASSERT_EQ(own.provider.bodies.size(), 3U);
    EXPECT_EQ(own.provider.bodies[1], own.provider.bodies[2]);
  }
}

// A step that was taken again has other checkpoints of the same numbers.
TEST_F(DurableClaims, ForkAtARecordWithoutWhatCameLater) {
  rig.provider.answers = {calls({{"a", "pay"}}), cut_short("Do"), text_answer("Done."),
                          text_answer("Other.")};
  rig.tools["pay"]->outcomes = {{"paid"}};
  run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = before->text == "Do"; });
  const std::uint64_t at = before->seqs.back();
  const auto sent = std::make_shared<std::promise<Result<bool>>>();
  rig.on_loop([&] {
    const auto message = json::Tree::parse(R"({"id":"m","role":"user","content":"Later."})");
    rig.runs->send_message(run, message.value(), false, "local",
                           [sent](Result<bool> result) { sent->set_value(std::move(result)); });
  });
  ASSERT_TRUE(sent->get_future().get().ok());
  rig.on_store([&](store::StorageBackend&) { rig.disk->damage_last_checkpoints(true); });
  rig.crash();
  EXPECT_EQ(rig.read(run, 0)->text, "Done.");
  rig.on_store([&](store::StorageBackend&) { rig.disk->damage_last_checkpoints(false); });
  ASSERT_NE(rig.provider.bodies.back().find("Later."), std::string::npos);
  const auto body = json::Tree::parse(R"({"at":)" + std::to_string(at) + "}");
  const auto forked = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.fork(run.text(), "local", body.value(), std::move(done));
  });
  ASSERT_TRUE(forked.ok()) << forked.error().message;
  const auto made = store::RunId::parse(json::Tree::parse(forked.value()).value()["id"].string());
  EXPECT_EQ(rig.read(*made, 0)->text, "Other.");
  EXPECT_EQ(rig.provider.bodies.back(), rig.provider.bodies[1]);
  EXPECT_EQ(rig.tools["pay"]->started, 1U);
}

// The model would be requested again for calls that have begun.
TEST_F(DurableClaims, ParkARunWhoseLastCheckpointHadAnAnswer) {
  for (const bool are_lost : {true, false}) {
    SCOPED_TRACE(are_lost ? "missing" : "damaged");
    DurableRig own;
    own.provider.answers = {calls({{"a", "look"}}), text_answer("Done.")};
    const store::RunId id = own.start("Go.");
    own.wait_for_call("look", "a");
    own.on_loop([&] { own.tools["look"]->always = tool::ToolOutcome{"seen"}; });
    const auto lose = [&](bool is_so) {
      own.on_store([&](store::StorageBackend&) {
        are_lost ? own.disk->lose_checkpoints(is_so) : own.disk->damage_last_checkpoints(is_so);
      });
    };
    lose(true);
    own.crash();
    while (own.state_of(id) != RunState::parked) continue;
    own.on_loop([&] { EXPECT_EQ(own.problems.at(0).second.code, Errc::store_damaged); });
    lose(false);
    own.store_ms += 60'000;
    own.on_loop([&] { own.runs->recover(); });
    EXPECT_EQ(own.read(id, 0)->text, "Done.");
  }
}

TEST_F(DurableClaims, EndARunThatWaitsWithoutItsCheckpointForANewMessage) {
  wait_for_user();
  rig.on_store([&](store::StorageBackend&) { rig.disk->lose_checkpoints(true); });
  const auto answered = rig.answer(run, resume);
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, Errc::store_damaged);
  EXPECT_NE(answered.error().message.find("A new message in its thread"), std::string::npos);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  const auto next = rig.open_run("r2", "Hello?", "");
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  rig.on_store([&](store::StorageBackend&) { rig.disk->lose_checkpoints(false); });
  EXPECT_EQ(rig.read(next.value().run, 0)->text, "Sent.");
  EXPECT_EQ(rig.tools["send"]->started, 0U);
}

TEST_F(DurableClaims, EndADamagedRunForANewMessageOfItsThread) {
  wait_for_user();
  rig.on_store([&](store::StorageBackend&) { rig.disk->damage_checkpoints(true); });
  const auto next = rig.open_run("r2", "Hello?", "");
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  rig.on_store([&](store::StorageBackend&) { rig.disk->damage_checkpoints(false); });
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(rig.read(next.value().run, 0)->text, "Sent.");
}

// An answer belongs to the run that asked; beside one that does, others are strays.
TEST_F(DurableClaims, NeedAnAnswerOfTheRun) {
  wait_for_user();
  const std::string another = R"({"interruptId":"another","status":"resolved"})";
  EXPECT_EQ(rig.answer(run, "[" + another + "]").error().code, Errc::approval_mismatch);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  const std::string both = resume.substr(0, resume.size() - 1) + "," + another + "]";
  ASSERT_TRUE(rig.answer(run, both).ok());
  wait_for(RunState::completed);
}

TEST_F(DurableClaims, OfARunThatCannotBeReadComeMoreAndMoreSeldom) {
  wait_for_user();
  rig.on_store([&](store::StorageBackend& backend) {
    store::Decision decision;
    decision.approval = backend.approvals({"local", run, true}).value().at(0).id;
    decision.principal = "local";
    decision.decision = "{}";
    EXPECT_TRUE(backend.decide(decision).ok());
  });
  damage(unreadable);
  std::int64_t wait = 60'000;
  for (std::size_t failures = 1; failures < 4; ++failures) {
    const auto recover = [&] { rig.on_loop([&] { rig.runs->recover(); }); };
    recover();
    for (bool is_known = false; !is_known;) {
      rig.on_loop([&] { is_known = rig.problems.size() == failures; });
    }
    // The look that found it is over: another one would wait for its end.
    EXPECT_EQ(rig.state_of(run), RunState::parked);
    rig.on_loop([] {});
    rig.store_ms += wait - 1;
    recover();
    EXPECT_EQ(rig.state_of(run), RunState::parked);
    rig.on_loop([&] { EXPECT_EQ(rig.problems.size(), failures); });
    rig.store_ms += 1;
    wait *= 2;
  }
  damage(std::nullopt);
  rig.on_loop([&] { rig.runs->recover(); });
  while (!journal::is_over(rig.state_of(run))) continue;
}

TEST_F(DurableClaims, EndARunThatWasStoppedOnceTheStoreTakesRecordsAgain) {
  wait_for_user();
  set_full(true);
  ASSERT_FALSE(stop().ok());
  while (!is_lost()) continue;
  const auto stopped = stop();
  ASSERT_FALSE(stopped.ok());
  EXPECT_NE(stopped.error().message.find("once the store takes records again"), std::string::npos);
  set_full(false);
  wait_for(RunState::cancelled);
}

TEST_F(DurableClaims, GiveARunBackOnceTheStoreTakesRecordsAgain) {
  wait_for_user();
  set_full(true);
  EXPECT_EQ(stop().error().code, Errc::store_failed);
  while (!is_lost()) continue;
  set_full(false);
  while (is_lost()) continue;
  // It waits for the user as before.
  wait_for(RunState::waiting);
  ASSERT_TRUE(rig.answer(run, resume).ok());
  wait_for(RunState::completed);
}

}  // namespace
}  // namespace millrace::run
