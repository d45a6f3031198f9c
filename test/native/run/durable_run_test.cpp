// Runs that are recorded: what is safe before it happens, what readers see, and what becomes of a
// run whose process ends.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "durable_rig.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using test::calls;
using test::chat_record;
using test::DurableRig;
using test::ModelAnswer;
using test::text_answer;

ModelAnswer half(const std::string& text) {
  return {chat_record(R"({"role":"assistant","content":")" + text + R"("})", "null"), 200, true};
}

bool is_dense(const std::vector<std::uint64_t>& seqs, std::uint64_t first) {
  for (std::size_t at = 0; at < seqs.size(); ++at) {
    if (seqs[at] != first + at) return false;
  }
  return true;
}

TEST(DurableRun, GivesEachReaderWhatFollowsItsCursor) {
  DurableRig rig;
  rig.provider.answers = {calls({{"c", "look"}}), text_answer("Done.")};
  rig.tools["look"]->outcomes = {{"seen"}};
  const store::RunId run = rig.start("Go.");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(whole->results["c"], std::vector<std::string>{"seen"});
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  ASSERT_TRUE(is_dense(whole->seqs, 1));
  for (std::size_t after = 0; after <= whole->seqs.size(); ++after) {
    const auto rest = rig.read(run, after);
    EXPECT_EQ(rest->seqs.size(), whole->seqs.size() - after);
    EXPECT_TRUE(is_dense(rest->seqs, after + 1));
  }
}

// Of a run whose model calls a tool so many times.
std::size_t commits_of(std::size_t turns) {
  DurableRig rig;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const std::string call = "c" + std::to_string(turn);
    rig.provider.answers.push_back(calls({{call, "pay"}}));
    rig.tools["pay"]->outcomes.push_back({"paid"});
  }
  rig.provider.answers.push_back(text_answer("Done."));
  EXPECT_EQ(rig.read(rig.start("Go."), 0)->text, "Done.");
  std::size_t commits = 0;
  rig.on_store([&](store::StorageBackend&) { commits = rig.disk->urgent_commits(); });
  return commits;
}

TEST(DurableRun, CommitsTwiceForAStepWithACall) {
  constexpr std::size_t more = 10;
  EXPECT_LE(commits_of(2 + more) - commits_of(2), 2 * more);
}

// The first piece of an answer then waits for no commit but that of the request, and its own.
TEST(DurableRun, CommitsTheBeginOfAStepWithItsRequest) {
  DurableRig rig;
  rig.provider.answers = {text_answer("Hello.")};
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(1, true); });
  const auto shown = rig.attach(rig.start("Go."), 0);
  // A reader that attaches once the disk is full gets no end: there may be room again.
  for (bool has_begun = false; !has_begun;) {
    rig.on_loop([&] { has_begun = shown->order.size() > 1; });
  }
  rig.on_loop([&] { EXPECT_EQ(shown->order, (std::vector<std::string>{"run", "step-1"})); });
}

TEST(DurableRun, WaitsForAReaderThatLagsBehind) {
  DurableRig rig;
  rig.provider.answers = {text_answer("Hello.")};
  const store::RunId run = rig.start("Go.");
  rig.read(run, 0);
  const auto slow = rig.attach(run, 0, 2);
  for (bool has_some = false; !has_some;) {
    rig.on_loop([&] { has_some = !slow->seqs.empty(); });
  }
  EXPECT_EQ(slow->seqs.size(), 2U);
  slow->most = 1000;
  rig.on_loop([&] { rig.hubs.back()->resume(*slow); });
  slow->ended.get_future().wait();
  EXPECT_TRUE(is_dense(slow->seqs, 1));
  EXPECT_EQ(slow->text, "Hello.");
}

TEST(DurableRun, AsksAgainAfterACrashInAnAnswer) {
  DurableRig rig;
  rig.provider.answers = {half("Hel"), text_answer("Hello.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = before->text == "Hel"; });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->resets, 1U);
  EXPECT_EQ(whole->text, "Hello.");
  EXPECT_EQ(whole->order, (std::vector<std::string>{"run", "step-1", "text", "/text", "/step",
                                                    "step-1", "text", "/text", "/step", "/run"}));
  EXPECT_TRUE(is_dense(whole->seqs, 1));
  EXPECT_EQ(rig.provider.bodies.size(), 2U);
}

TEST(DurableRun, RunsNoCallTwiceThatWasOver) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "pay"}, {"b", "look"}}), text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  rig.finish("pay", "a", {"paid"});
  rig.wait_for_call("look", "b");
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = !before->results["a"].empty(); });
  rig.tools["look"]->open.clear();
  rig.crash();
  rig.finish("look", "b", {"seen"});
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(rig.tools["pay"]->started, 1U);
  EXPECT_EQ(rig.tools["look"]->started, 2U);
  EXPECT_EQ(whole->results["a"], std::vector<std::string>{"paid"});
  EXPECT_EQ(whole->results["b"], std::vector<std::string>{"seen"});
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST(DurableRun, ReportsACallWhoseOutcomeIsUnknown) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "pay"}}), text_answer("I do not know.")};
  const store::RunId run = rig.start("Go.");
  rig.wait_for_call("pay", "a");
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(rig.tools["pay"]->started, 1U);
  ASSERT_EQ(whole->results["a"].size(), 1U);
  EXPECT_NE(whole->results["a"][0].find("unknown"), std::string::npos);
  EXPECT_EQ(whole->text, "I do not know.");
}

// A run whose calls of "pay" were cut, in a process that has the user decide about them.
store::RunId cut_payments(DurableRig& rig, const std::vector<std::string>& ids) {
  rig.agent.unknown = UnknownPolicy::ask;
  std::vector<std::pair<std::string, std::string>> made;
  for (const std::string& id : ids) made.emplace_back(id, "pay");
  rig.provider.answers = {calls(made), text_answer("Done.")};
  rig.crash();
  const store::RunId run = rig.start("Go.");
  for (const std::string& id : ids) rig.wait_for_call("pay", id);
  rig.on_loop([&] { rig.tools["pay"]->open.clear(); });
  rig.crash();
  return run;
}

std::string outcome(const std::string& interrupt, const std::string& value) {
  return R"([{"interruptId":")" + interrupt + R"(","status":"resolved","payload":{"value":")" +
         value + R"("}}])";
}

TEST(DurableRun, AsksTheUserWhetherACallWasMade) {
  DurableRig rig;
  const store::RunId run = cut_payments(rig, {"a"});
  const auto paused = rig.read(run, 0);
  ASSERT_EQ(paused->interrupts.size(), 1U);
  EXPECT_EQ(paused->order.back(), "/run");
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  rig.crash();
  EXPECT_EQ(rig.answer(run, outcome(paused->interrupts[0], "perhaps")).error().code,
            Errc::invalid_argument);
  EXPECT_EQ(rig.answer(run, outcome("made up", "ran")).error().code, Errc::approval_mismatch);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  const auto answered = rig.answer(run, outcome(paused->interrupts[0], "ran"));
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  const auto whole = rig.read(run, paused->seqs.back());
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_NE(whole->results["a"].at(0).find("was made"), std::string::npos);
  EXPECT_EQ(rig.tools["pay"]->started, 1U);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST(DurableRun, MakesACallThatWasNotMadeAndAsksAnewWhenThatIsCut) {
  DurableRig rig;
  const store::RunId run = cut_payments(rig, {"a"});
  auto paused = rig.read(run, 0);
  ASSERT_EQ(paused->interrupts.size(), 1U);
  ASSERT_TRUE(rig.answer(run, outcome(paused->interrupts[0], "did_not_run")).ok());
  rig.wait_for_call("pay", "a");
  rig.on_loop([&] { rig.tools["pay"]->open.clear(); });
  rig.crash();
  paused = rig.read(run, paused->seqs.back());
  ASSERT_EQ(paused->interrupts.size(), 1U);
  EXPECT_EQ(rig.tools["pay"]->started, 2U);
  std::promise<Result<StartedRun>> again;
  const std::string resume = outcome(paused->interrupts[0], "did_not_run");
  rig.on_loop([&] {
    AgentInput input;
    input.thread_id = "thread";
    input.run_id = "reader-3";
    input.messages_json = "[]";
    input.resume_json = resume;
    rig.runs->answer(run, "local", input,
                     [&](Result<StartedRun> result) { again.set_value(std::move(result)); });
  });
  ASSERT_TRUE(again.get_future().get().ok());
  rig.finish("pay", "a", {"paid"});
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->results["a"], std::vector<std::string>{"paid"});
  EXPECT_EQ(rig.tools["pay"]->started, 3U);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

// The answer could not become a segment of its own: nothing is decided, and the run waits on.
TEST(DurableRun, RejectsAnAnswerWithTheIdOfAnotherOne) {
  DurableRig rig;
  const store::RunId run = cut_payments(rig, {"a", "b"});
  const auto paused = rig.read(run, 0);
  ASSERT_EQ(paused->interrupts.size(), 2U);
  ASSERT_TRUE(rig.answer(run, outcome(paused->interrupts[0], "ran"), "local", "reader-2").ok());
  EXPECT_EQ(rig.read(run, paused->seqs.back())->interrupts.size(), 1U);
  const std::string rest = outcome(paused->interrupts[1], "ran");
  const auto rejected = rig.answer(run, rest, "local", "reader-2");
  EXPECT_EQ(rejected.error().code, Errc::run_conflict);
  EXPECT_NE(rejected.error().message.find("another `runId`"), std::string::npos);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  ASSERT_TRUE(rig.answer(run, rest, "local", "reader-3").ok());
  EXPECT_EQ(rig.read(run, 0)->order.back(), "/run");
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST(DurableRun, AsksForTheRestOfItsAnswers) {
  DurableRig rig;
  const store::RunId run = cut_payments(rig, {"a", "b"});
  const auto paused = rig.read(run, 0);
  ASSERT_EQ(paused->interrupts.size(), 2U);
  ASSERT_TRUE(rig.answer(run, outcome(paused->interrupts[0], "ran")).ok());
  const auto rest = rig.read(run, paused->seqs.back());
  EXPECT_EQ(rest->interrupts, std::vector<std::string>{paused->interrupts[1]});
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  const auto stopped = rig.request<std::string>([&](RunRequests& requests, auto done) {
    const json::Tree entry =
        json::Tree::parse(R"({"status":"resolved","payload":{"value":"stop"}})").value();
    requests.decide(run.text(), paused->interrupts[1], "local", entry, std::move(done));
  });
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_EQ(rig.read(run, 0)->order.back(), "/run");
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(rig.tools["pay"]->started, 2U);
}

TEST(DurableRun, ReportsACallThatNobodySpokeOfInTime) {
  DurableRig rig;
  const store::RunId run = cut_payments(rig, {"a"});
  const auto paused = rig.read(run, 0);
  rig.store_ms += std::chrono::milliseconds(std::chrono::hours{8 * 24}).count();
  rig.on_store([&](store::StorageBackend& backend) {
    EXPECT_EQ(backend.sweep({}).value().expired.size(), 1U);
  });
  rig.on_loop([&] { rig.runs->recover(); });
  const auto whole = rig.read(run, paused->seqs.back());
  EXPECT_NE(whole->results["a"].at(0).find("unknown"), std::string::npos);
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(rig.tools["pay"]->started, 1U);
}

TEST(DurableRun, ReportsAnUnknownOutcomeOnce) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "pay"}, {"b", "look"}}), text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  rig.wait_for_call("pay", "a");
  rig.wait_for_call("look", "b");
  rig.tools["look"]->open.clear();
  rig.crash();
  const auto before = rig.attach(run, 0);
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = !before->results["a"].empty(); });
  rig.wait_for_call("look", "b");
  rig.tools["look"]->open.clear();
  rig.crash();
  rig.finish("look", "b", {"seen"});
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->results["a"].size(), 1U);
  EXPECT_EQ(rig.tools["pay"]->started, 1U);
  EXPECT_EQ(whole->text, "Done.");
  rig.on_store([&](store::StorageBackend& backend) {
    const auto rows = backend.calls(run);
    ASSERT_TRUE(rows.ok());
    for (const store::CallRow& row : rows.value()) {
      EXPECT_EQ(row.state, row.call == "a" ? journal::CallState::unknown : journal::CallState::ok);
    }
  });
}

TEST(DurableRun, IsParkedWithAReasonWhenItCannotBeRead) {
  DurableRig rig;
  rig.provider.answers = {half("Hel")};
  const store::RunId run = rig.start("Go.");
  rig.on_store([&](store::StorageBackend& backend) {
    store::AppendBatch batch;
    batch.run = run;
    batch.epoch = backend.run(run).value()->epoch;
    batch.page = store::page_of(journal::Checkpoint{1, 99, true}, backend.now());
    batch.checkpoints.push_back({run, 99, 0, true, "{"});
    EXPECT_EQ(backend.append({&batch, 1})[0].status, store::AppendStatus::committed);
  });
  rig.crash();
  for (bool reported = false; !reported;) rig.on_loop([&] { reported = !rig.problems.empty(); });
  EXPECT_EQ(rig.problems[0].first, run);
  EXPECT_EQ(rig.problems[0].second.code, Errc::store_damaged);
  EXPECT_EQ(rig.state_of(run), RunState::parked);
}

// As providers do that number their calls anew in each answer.
TEST(DurableRun, MakesACallWhoseIdIsThatOfACallTheStateHasNoLonger) {
  DurableRig rig;
  rig.provider.answers = {half("Hel"), calls({{"call_0", "look"}}), text_answer("Done.")};
  rig.tools["look"]->outcomes = {{"new"}};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = before->text == "Hel"; });
  // An earlier call, whose messages compression has taken out of the state.
  rig.on_store([&](store::StorageBackend& backend) {
    store::CallRow row;
    row.run = run;
    row.call = "call_0";
    row.name = "look";
    row.effect = journal::Effect::read;
    row.state = journal::CallState::ok;
    row.tries = 1;
    row.epoch = 1;
    row.result = R"({"content":"old"})";
    store::AppendBatch batch;
    batch.run = run;
    batch.epoch = backend.run(run).value()->epoch;
    batch.page = store::page_of(
        journal::ToolIntent{"call_0", {}, "look", "{}", {}, row.effect, {}, row.kind},
        backend.now());
    batch.calls.push_back(row);
    EXPECT_EQ(backend.append({&batch, 1})[0].status, store::AppendStatus::committed);
  });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(rig.tools["look"]->started, 1U);
  std::vector<std::string> results;
  for (const auto& [id, texts] : whole->results) {
    results.insert(results.end(), texts.begin(), texts.end());
  }
  EXPECT_EQ(results, std::vector<std::string>{"new"});
}

TEST(DurableRun, RepeatsACallWhoseKeyMakesItHarmless) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "put"}}), text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  rig.wait_for_call("put", "a");
  rig.tools["put"]->open.clear();
  rig.crash();
  rig.finish("put", "a", {"put"});
  EXPECT_EQ(rig.read(run, 0)->text, "Done.");
  EXPECT_EQ(rig.tools["put"]->started, 2U);
}

TEST(DurableRun, RepeatsACallInAForkUnderItsKey) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "put"}}), text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  rig.wait_for_call("put", "a");
  std::uint64_t last = 0;
  rig.on_store([&](store::StorageBackend& backend) { last = backend.run(run).value()->last; });
  const auto body = json::Tree::parse(R"({"at":)" + std::to_string(last) + "}");
  const auto forked = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.fork(run.text(), "local", body.value(), std::move(done));
  });
  ASSERT_TRUE(forked.ok()) << forked.error().message;
  std::vector<std::string> keys;
  while (keys.size() < 2) rig.on_loop([&] { keys = rig.tools["put"]->keys; });
  EXPECT_NE(keys[0], "");
  EXPECT_EQ(keys[0], keys[1]);
}

TEST(DurableRun, TakesOneAnswerOfTheUserAlsoInAnotherProcess) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  const store::RunId run = rig.start("Go.");
  const auto waiting = rig.read(run, 0);
  ASSERT_EQ(waiting->interrupts.size(), 1U);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  rig.crash();
  const std::string resume = R"([{"interruptId":")" + waiting->interrupts[0] +
                             R"(","status":"resolved","payload":{"approved":true}}])";
  EXPECT_FALSE(rig.answer(run, resume, "somebody else").ok());
  EXPECT_FALSE(rig.answer(run, R"([{"interruptId":"made up","status":"resolved"}])").ok());
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  const auto answered = rig.answer(run, resume);
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(rig.answer(run, resume).error().code, Errc::approval_answered);
  const auto whole = rig.read(run, waiting->seqs.back());
  EXPECT_EQ(whole->text, "Sent.");
  EXPECT_EQ(rig.tools["send"]->started, 1U);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST(DurableRun, GivesTheUserAWeekForAnAnswer) {
  DurableRig rig;
  rig.provider.answers = {calls({{"s", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  const store::RunId run = rig.start("Go.");
  const auto first = rig.read(run, 0);
  ASSERT_EQ(first->interrupts.size(), 1U);
  rig.crash();
  rig.on_loop([&] { rig.clock.advance(std::chrono::hours{6 * 24}); });
  const auto answered =
      rig.answer(run, R"([{"interruptId":")" + first->interrupts[0] +
                          R"(","status":"resolved","payload":{"approved":true}}])");
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(rig.read(run, 0)->text, "Sent.");
}

TEST(DurableRun, CountsNoTimeWithoutAProcess) {
  DurableRig rig(R"(,"limits":{"maxDurationMs":3600000})");
  rig.provider.answers = {half("Hel"), text_answer("Hello.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = before->text == "Hel"; });
  rig.crash(std::chrono::hours{2});
  EXPECT_EQ(rig.read(run, 0)->text, "Hello.");
}

TEST(DurableRun, StopsForGood) {
  DurableRig rig;
  rig.provider.answers = {half("Hel")};
  const store::RunId run = rig.start("Go.");
  const auto reader = rig.attach(run, 0);
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = reader->text == "Hel"; });
  rig.on_loop([&] { EXPECT_TRUE(rig.runs->stop(run, "local", "enough")); });
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->text, "Hel");
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  rig.crash();
  EXPECT_EQ(rig.read(run, 0)->text, "Hel");
  EXPECT_EQ(rig.provider.bodies.size(), 1U);
}

TEST(DurableRun, IsGivenUpWhenItsProcessesKeepEnding) {
  DurableRig rig;
  rig.provider.answers = {half("a"), half("b"), half("c"), half("d")};
  const store::RunId run = rig.start("Go.");
  for (int crash = 0; crash < 3; ++crash) {
    const auto reader = rig.attach(run, 0);
    for (bool shown = false; !shown;) rig.on_loop([&] { shown = !reader->text.empty(); });
    rig.crash();
  }
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->order.back(), "failed");
  EXPECT_EQ(whole->failed_with, "run_not_recoverable");
  EXPECT_EQ(rig.state_of(run), RunState::failed);
  EXPECT_EQ(rig.provider.bodies.size(), 3U);
}

TEST(DurableRun, IsNotGivenUpByProcessesThatLetGoOfIt) {
  DurableRig rig;
  constexpr int ends = 8;
  for (int end = 0; end < ends; ++end) rig.provider.answers.push_back(half("a"));
  rig.provider.answers.push_back(text_answer("Done."));
  const store::RunId run = rig.start("Go.");
  for (int end = 0; end < ends; ++end) {
    const auto reader = rig.attach(run, 0);
    const auto resets = static_cast<std::size_t>(end);
    for (bool shown = false; !shown;) {
      rig.on_loop([&] { shown = reader->resets == resets && !reader->text.empty(); });
    }
    rig.crash({}, store::Release::clean);
  }
  EXPECT_EQ(rig.read(run, 0)->text, "Done.");
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST(DurableRun, IsNotGivenUpWhileItComesAlong) {
  DurableRig rig;
  constexpr int rounds = 8;
  for (int round = 0; round < rounds; ++round) {
    rig.provider.answers.push_back(half("a"));
    rig.provider.answers.push_back(calls({{"c" + std::to_string(round), "look"}}));
    rig.tools["look"]->outcomes.push_back({"seen"});
  }
  rig.provider.answers.push_back(text_answer("Done."));
  const store::RunId run = rig.start("Go.");
  for (std::size_t crash = 1; crash <= rounds; ++crash) {
    for (bool begun = false; !begun;) {
      rig.on_loop([&] { begun = rig.provider.bodies.size() == 2 * crash - 1; });
    }
    rig.crash();
  }
  EXPECT_EQ(rig.read(run, 0)->text, "Done.");
  EXPECT_EQ(rig.tools["look"]->started, 8U);
}

TEST(DurableRun, JoinsAResponseThatTheProviderMakesInTheBackground) {
  DurableRig rig(R"(,"payload":{"background":true,"apiMode":"responses"})");
  const std::string created =
      R"(data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"queued","background":true}})"
      "\n\n"
      R"(data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","status":"in_progress","background":true}})"
      "\n\n"
      R"(data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}})"
      "\n\n"
      R"(data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel"})"
      "\n\n";
  const std::string rest =
      R"(data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo."})"
      "\n\n"
      R"(data: {"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello."}]}]}})"
      "\n\n";
  constexpr int kills = 10;
  rig.provider.answers.push_back({created, 200, true});
  for (int kill = 1; kill < kills; ++kill) rig.provider.answers.push_back({"", 200, true});
  rig.provider.answers.push_back({rest});
  const store::RunId run = rig.start("Go.");
  std::shared_ptr<test::RecordLog> before;
  for (int kill = 0; kill < kills; ++kill) {
    before = rig.attach(run, 0);
    const auto requests = static_cast<std::size_t>(kill) + 1;
    for (bool shown = false; !shown;) {
      rig.on_loop(
          [&] { shown = before->text == "Hel" && rig.provider.requests.size() == requests; });
    }
    if (kill == kills - 1) break;
    rig.crash();
  }
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Hello.");
  EXPECT_EQ(whole->resets, 0U);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  ASSERT_EQ(rig.provider.requests.size(), kills + 1U);
  EXPECT_TRUE(rig.provider.requests[0].starts_with("POST ")) << rig.provider.requests[0];
  for (std::size_t at = 1; at < rig.provider.requests.size(); ++at) {
    EXPECT_TRUE(rig.provider.requests[at].starts_with("GET ")) << rig.provider.requests[at];
    EXPECT_TRUE(
        rig.provider.requests[at].ends_with("/responses/resp_1?stream=true&starting_after=3"))
        << rig.provider.requests[at];
  }
}

TEST(DurableRun, AsksAnewForABackgroundResponseThatIsGone) {
  DurableRig rig(R"(,"payload":{"background":true,"apiMode":"responses"})");
  const std::string created =
      R"(data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"queued","background":true}})"
      "\n\n";
  rig.provider.answers = {
      {created, 200, true},
      {R"({"error":{"message":"No such response."}})", 404},
      {R"(data: {"type":"response.output_item.added","sequence_number":0,"output_index":0,"item":{"id":"m","type":"message","role":"assistant","content":[]}})"
       "\n\n"
       R"(data: {"type":"response.output_text.delta","sequence_number":1,"item_id":"m","output_index":0,"content_index":0,"delta":"Again."})"
       "\n\n"
       R"(data: {"type":"response.completed","sequence_number":2,"response":{"id":"resp_2","status":"completed"}})"
       "\n\n"}};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool opened = false; !opened;) {
    rig.on_loop([&] {
      opened = std::count(before->facts.begin(), before->facts.end(),
                          journal::Fact(journal::ModelOpened{}).index()) > 0;
    });
  }
  rig.crash();
  const auto reader = rig.attach(run, 0);
  for (bool asked = false; !asked;) {
    rig.on_loop([&] { asked = rig.provider.requests.size() == 3; });
  }
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->text, "Again.");
  EXPECT_TRUE(rig.provider.requests[2].starts_with("POST ")) << rig.provider.requests[2];
}

TEST(DurableRun, LeavesAThreadToTheRunThatIsInIt) {
  DurableRig rig;
  rig.provider.answers = {half("Hel"), text_answer("Never.")};
  const store::RunId run = rig.start("Go.");
  const auto second = rig.try_start("Go on.");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::run_conflict);
  EXPECT_NE(second.error().message.find(run.text()), std::string::npos);
  EXPECT_EQ(rig.provider.bodies.size(), 1U);
}

TEST(DurableRun, RefusesACursorBehindItsEnd) {
  DurableRig rig;
  rig.provider.answers = {text_answer("Hello.")};
  const store::RunId run = rig.start("Go.");
  const auto whole = rig.read(run, 0);
  rig.on_loop([&] {
    EXPECT_EQ(rig.hubs.back()
                  ->attach(std::make_shared<test::RecordLog>(), whole->seqs.size() + 1)
                  .error()
                  .code,
              Errc::cursor_ahead);
  });
}

}  // namespace
}  // namespace millrace::run
