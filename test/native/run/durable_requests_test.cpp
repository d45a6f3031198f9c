// What callers may do with recorded runs: whose they are, what a repeated request gives, and what
// becomes of runs that nobody reads or runs.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "durable_rig.hpp"
#include "run/durable/run_upkeep.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::calls;
using test::chat_record;
using test::DurableRig;
using test::ModelAnswer;
using test::text_answer;

ModelAnswer begun(const std::string& text) {
  return {chat_record(R"({"role":"assistant","content":")" + text + R"("})", "null"), 200, true};
}

std::string approve(const std::string& id) {
  return R"([{"interruptId":")" + id + R"(","status":"resolved","payload":{"approved":true}}])";
}

void wait_for(DurableRig& rig, const store::RunId& run, RunState state) {
  while (rig.state_of(run) != state) {
  }
}

Result<std::string> describe(DurableRig& rig, const std::string& id, const std::string& principal,
                             const std::string& thread = "") {
  return rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.describe(id, principal, thread, std::move(done));
  });
}

Result<std::string> stop(DurableRig& rig, const std::string& id) {
  return rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.stop(id, "local", "", "enough", std::move(done));
  });
}

TEST(RunRequests, GivesARepeatedRequestTheRunThatIsThere) {
  DurableRig rig;
  rig.provider.answers = {text_answer("Hello."), text_answer("Never.")};
  const auto first = rig.open_run("r1", "Go.", "hash");
  ASSERT_TRUE(first.ok()) << first.error().message;
  wait_for(rig, first.value().run, RunState::completed);
  const auto again = rig.open_run("r1", "Go.", "hash");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().run, first.value().run);
  EXPECT_EQ(again.value().before, first.value().before);
  EXPECT_EQ(rig.open_run("r1", "Something else.", "other").error().code, Errc::run_conflict);
  // A request without a hash is never known to be the same.
  EXPECT_EQ(rig.open_run("r1", "Go.", "").error().code, Errc::run_conflict);
  EXPECT_EQ(rig.provider.bodies.size(), 1U);
}

TEST(RunRequests, FindsTheRunOfARepeatedKeyWhileItWaitsForTheUser) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Never.")};
  const auto open = [&](const std::string& ag_ui_run, const std::string& hash) {
    StartRequest request;
    request.name = "agent";
    request.principal = "local";
    request.idem_key = "key";
    request.idem_hash = hash;
    request.input.thread_id = "thread";
    request.input.run_id = ag_ui_run;
    request.input.messages_json = R"([{"id":"u","role":"user","content":"Send it."}])";
    return rig.request<FoundRun>([&](RunRequests& requests, auto done) {
      requests.open(std::move(request), std::move(done));
    });
  };
  const auto first = open("r1", "hash");
  ASSERT_TRUE(first.ok()) << first.error().message;
  wait_for(rig, first.value().run, RunState::waiting);
  const auto again = open("r2", "hash");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().run, first.value().run);
  EXPECT_EQ(open("r3", "another").error().code, Errc::run_conflict);
  EXPECT_EQ(rig.state_of(first.value().run), RunState::waiting);
  EXPECT_EQ(rig.provider.bodies.size(), 1U);
}

TEST(RunRequests, HidesTheRunsOfAnAgent) {
  DurableRig rig;
  rig.provider.answers = {test::text_answer("Hello.")};
  const auto run = rig.open_run("r1", "Go.", "hash");
  ASSERT_TRUE(run.ok());
  wait_for(rig, run.value().run, RunState::completed);
  const auto with = [&](const std::string& hidden, const std::string& id) {
    std::shared_ptr<RunRequests> shown;
    const auto described = rig.request<std::string>([&](RunRequests& requests, auto done) {
      shown = requests.without(hidden);
      shown->describe(id, "local", "", std::move(done));
    });
    rig.on_loop([&] { shown.reset(); });
    return described;
  };
  const auto list_without = [&](const std::string& hidden) {
    std::shared_ptr<RunRequests> shown;
    const auto listed = rig.request<std::string>([&](RunRequests& requests, auto done) {
      shown = requests.without(hidden);
      shown->list(Tree::object(), "local", std::move(done));
    });
    rig.on_loop([&] { shown.reset(); });
    return Tree::parse(listed.value()).value()["runs"].items().size();
  };
  for (const std::string& id : {run.value().run.text(), std::string("r1")}) {
    EXPECT_TRUE(with("other", id).ok());
    EXPECT_EQ(with("agent", id).error().code, Errc::run_not_found);
  }
  EXPECT_EQ(list_without("other"), 1U);
  EXPECT_EQ(list_without("agent"), 0U);
}

TEST(RunRequests, EndsARunWhoseQuestionIsLeftUnanswered) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Something else.")};
  const auto first = rig.open_run("r1", "Send it.", "1");
  ASSERT_TRUE(first.ok());
  wait_for(rig, first.value().run, RunState::waiting);
  const auto waiting = rig.read(first.value().run, 0);
  const auto second = rig.open_run("r2", "Never mind.", "2");
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(rig.state_of(first.value().run), RunState::cancelled);
  EXPECT_EQ(rig.read(second.value().run, 0)->text, "Something else.");
  EXPECT_EQ(rig.tools["send"]->started, 0U);
  // The answer comes too late.
  EXPECT_EQ(rig.open_run("r3", "", "3", approve(waiting->interrupts.at(0))).error().code,
            Errc::approval_answered);
  EXPECT_EQ(rig.open_run("r4", "", "4", approve("made up")).error().code, Errc::approval_mismatch);
  const std::string both =
      R"([{"interruptId":"made up"},{"interruptId":")" + waiting->interrupts.at(0) + R"("}])";
  EXPECT_EQ(rig.open_run("r5", "Go on.", "5", both).error().code, Errc::approval_answered);
}

TEST(RunRequests, BeginsARunBesideAnswersThatNothingWaitsFor) {
  DurableRig rig;
  rig.provider.answers = {text_answer("Hello.")};
  const auto run = rig.open_run("r1", "Hi.", "1", approve("made up"));
  ASSERT_TRUE(run.ok()) << run.error().message;
  const auto read = rig.read(run.value().run, 0);
  EXPECT_EQ(read->text, "Hello.");
  EXPECT_EQ(rig.state_of(run.value().run), RunState::completed);
}

TEST(RunRequests, AnswersInARunOfTheReadersOwn) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  const auto first = rig.open_run("r1", "Send it.", "1");
  ASSERT_TRUE(first.ok());
  wait_for(rig, first.value().run, RunState::waiting);
  const auto waiting = rig.read(first.value().run, 0);
  const auto second = rig.open_run("r2", "", "2", approve(waiting->interrupts.at(0)));
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second.value().run, first.value().run);
  EXPECT_TRUE(second.value().one_run);
  EXPECT_GT(second.value().before, waiting->seqs.back());
  wait_for(rig, first.value().run, RunState::completed);
  // The AG-UI runs have their own places, the run has both.
  const auto find = [&](const std::string& id) {
    return rig.request<FoundRun>(
        [&](RunRequests& requests, auto done) { requests.find(id, "local", "", std::move(done)); });
  };
  EXPECT_EQ(find("r1").value().before, 0U);
  EXPECT_EQ(find("r2").value().before, second.value().before);
  EXPECT_FALSE(find(first.value().run.text()).value().one_run);
  EXPECT_EQ(find("r3").error().code, Errc::run_not_found);
  // A repeated answer gives the same run.
  EXPECT_EQ(rig.open_run("r2", "", "2", approve(waiting->interrupts.at(0))).value().before,
            second.value().before);
}

TEST(RunRequests, DecidesOneApprovalAfterTheOther) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}, {"b", "send"}}), text_answer("Both sent.")};
  rig.tools["send"]->outcomes = {{"sent a"}, {"sent b"}};
  const auto opened = rig.open_run("r1", "Send both.", "1");
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  wait_for(rig, run, RunState::waiting);
  const auto waiting = rig.read(run, 0);
  ASSERT_EQ(waiting->interrupts.size(), 2U);
  const auto decide = [&](const std::string& approval, const std::string& principal) {
    return rig.request<std::string>([&](RunRequests& requests, auto done) {
      requests.decide(run.text(), approval, principal, Tree::parse(R"({"approved":true})").value(),
                      std::move(done));
    });
  };
  EXPECT_EQ(decide(waiting->interrupts[0], "somebody else").error().code, Errc::run_not_found);
  ASSERT_TRUE(decide(waiting->interrupts[0], "local").ok());
  wait_for(rig, run, RunState::waiting);
  EXPECT_EQ(decide(waiting->interrupts[0], "local").error().code, Errc::approval_answered);
  const auto last = decide(waiting->interrupts[1], "local");
  ASSERT_TRUE(last.ok()) << last.error().message;
  wait_for(rig, run, RunState::completed);
  EXPECT_EQ(rig.tools["send"]->started, 2U);
  EXPECT_EQ(rig.read(run, 0)->text, "Both sent.");
}

TEST(RunRequests, ShowsARunToItsPrincipalAlone) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}})};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const std::string id = opened.value().run.text();
  wait_for(rig, opened.value().run, RunState::waiting);
  const auto info = Tree::parse(describe(rig, id, "local").value()).value();
  EXPECT_EQ(info["state"].string(), "waiting");
  EXPECT_EQ(info["waitsFor"]["reason"].string(), "approval");
  EXPECT_EQ(info["approvals"].items().size(), 1U);
  EXPECT_EQ(info["approvals"].items()[0]["interrupt"]["metadata"]["toolName"].string(), "send");
  EXPECT_EQ(describe(rig, id, "bob").error().code, Errc::run_not_found);
  EXPECT_EQ(describe(rig, "r1", "local", "another thread").error().code, Errc::run_not_found);
  EXPECT_EQ(Tree::parse(describe(rig, "r1", "local").value()).value()["id"].string(), id);
  const auto list = [&](const std::string& principal, const char* query) {
    return rig.request<std::string>([&](RunRequests& requests, auto done) {
      requests.list(Tree::parse(query).value(), principal, std::move(done));
    });
  };
  EXPECT_EQ(
      Tree::parse(list("local", R"({"state":"waiting"})").value()).value()["runs"].items().size(),
      1U);
  EXPECT_EQ(Tree::parse(list("bob", "{}").value()).value()["runs"].items().size(), 0U);
  EXPECT_EQ(list("local", R"({"state":"lost"})").error().code, Errc::invalid_argument);
  EXPECT_EQ(list("local", R"({"limit":0})").error().code, Errc::invalid_argument);
  EXPECT_EQ(list("local", R"({"colour":"red"})").error().code, Errc::invalid_argument);
}

TEST(RunRequests, StopsARunThatWaits) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}})};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  wait_for(rig, opened.value().run, RunState::waiting);
  const auto info = Tree::parse(stop(rig, "r1").value()).value();
  EXPECT_EQ(info["state"].string(), "cancelled");
  EXPECT_TRUE(info["approvals"].is_null());
  // Again changes nothing.
  EXPECT_EQ(stop(rig, "r1").value(), info.to_json());
  const auto reader = rig.read(opened.value().run, 0);
  EXPECT_EQ(std::count(reader->order.begin(), reader->order.end(), "/run"), 1);
}

TEST(RunRequests, StopsARunThatIsAtWork) {
  DurableRig rig;
  rig.provider.answers = {begun("Hel")};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const auto info = Tree::parse(stop(rig, opened.value().run.text()).value()).value();
  EXPECT_TRUE(info["stopRequested"].is_true());
  wait_for(rig, opened.value().run, RunState::cancelled);
}

TEST(RunRequests, RefusesMessagesThatSayMoreThanOneThing) {
  DurableRig rig;
  for (const char* body : {R"({"text":"a","content":"b"})", R"({"text":"a","interrupt":"x"})"}) {
    const auto sent = rig.request<std::string>([&](RunRequests& requests, auto done) {
      requests.send_message("r1", "local", Tree::parse(body).value(), std::move(done));
    });
    EXPECT_EQ(sent.error().code, Errc::invalid_body) << body;
  }
}

TEST(RunRequests, AcknowledgesNoStopThatWasNotRecorded) {
  DurableRig rig;
  rig.provider.answers = {begun("Hel")};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(0, true); });
  const auto stopped = stop(rig, opened.value().run.text());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Errc::store_failed);
}

TEST(RunRequests, StopsARunWhoseAgentIsGone) {
  DurableRig rig;
  rig.provider.answers = {calls({{"p", "pay"}})};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  rig.wait_for_call("pay", "p");
  rig.name = "another agent";
  rig.crash();
  const auto reader = rig.attach(run, 0);
  ASSERT_TRUE(stop(rig, run.text()).ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->order.back(), "/run");
  rig.on_store([&](store::StorageBackend& backend) {
    EXPECT_EQ(backend.calls(run).value().at(0).state, journal::CallState::unknown);
  });
}

TEST(RunRequests, ParksARunThatNobodyCanRun) {
  DurableRig rig;
  rig.provider.answers = {begun("Hel"), text_answer("Hello.")};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  rig.name = "another agent";
  rig.crash();
  std::shared_ptr<RunUpkeep> upkeep;
  rig.on_loop([&] {
    UpkeepOptions options;
    options.unclaimed = std::chrono::milliseconds{1};
    upkeep = std::make_shared<RunUpkeep>(rig.loop, rig.writer, rig.runs, options);
    upkeep->start();
  });
  wait_for(rig, run, RunState::parked);
  const auto info = Tree::parse(describe(rig, run.text(), "local").value()).value();
  EXPECT_EQ(info["waitsFor"]["reason"].string(), "agent_not_registered");
  EXPECT_EQ(rig.open_run("r2", "Go.", "2", "", "another thread").error().code,
            Errc::agent_not_registered);
  // Whoever registers the name goes on with it.
  rig.on_loop([&] {
    upkeep.reset();
    rig.runs->add("agent", rig.agent);
  });
  EXPECT_EQ(rig.read(run, 0)->text, "Hello.");
}

TEST(RunRequests, ParksNoRunThatWaitsForALimit) {
  DurableRig rig;
  rig.provider.answers = {begun("Hel"), begun("Hel"), begun("Hel")};
  // The oldest is looked at last.
  const store::RunId gone = store::RunId::of_uuid("00000000-0000-4000-8000-000000000001");
  rig.on_store([&](store::StorageBackend& backend) {
    store::AppendBatch batch;
    batch.run = gone;
    batch.accept.emplace();
    batch.accept->id = gone;
    batch.accept->kind = "agent";
    batch.accept->name = "gone";
    batch.accept->owner = "gone";
    EXPECT_EQ(backend.append({&batch, 1}).front().status, store::AppendStatus::committed);
    EXPECT_TRUE(backend.release("gone", store::Release::lost).ok());
  });
  rig.store_ms += 1;
  std::vector<store::RunId> runs;
  for (const std::string name : {"r1", "r2"}) {
    const auto opened = rig.open_run(name, "Go.", name, "", "thread of " + name);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runs.push_back(opened.value().run);
  }
  rig.name = "another agent";
  rig.crash();
  std::shared_ptr<RunUpkeep> upkeep;
  rig.on_loop([&] {
    StartRules rules;
    rules.limits.total = 1;
    rig.runs->limit_starts(rules);
    rig.runs->add("agent", rig.agent);
  });
  const auto owner_of = [&](const store::RunId& run) {
    std::string owner;
    rig.on_store(
        [&](store::StorageBackend& backend) { owner = backend.run(run).value()->run.owner; });
    return owner;
  };
  while (owner_of(runs[0]).empty() && owner_of(runs[1]).empty()) continue;
  rig.on_loop([&] {
    UpkeepOptions options;
    options.unclaimed = std::chrono::milliseconds{1};
    upkeep = std::make_shared<RunUpkeep>(rig.loop, rig.writer, rig.runs, options);
    upkeep->start();
  });
  wait_for(rig, gone, RunState::parked);
  EXPECT_EQ(rig.state_of(runs[0]), RunState::running);
  EXPECT_EQ(rig.state_of(runs[1]), RunState::running);
  rig.on_loop([&] { upkeep.reset(); });
}

TEST(RunRequests, LetsAnApprovalThatExpiresEndItsRun) {
  DurableRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Not sent.")};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  wait_for(rig, run, RunState::waiting);
  rig.store_ms += std::int64_t{8} * 24 * 3600 * 1000;
  std::shared_ptr<RunUpkeep> upkeep;
  rig.on_loop([&] {
    rig.clock.advance(std::chrono::hours{8 * 24});
    upkeep = std::make_shared<RunUpkeep>(rig.loop, rig.writer, rig.runs);
    upkeep->start();
  });
  while (!journal::is_over(rig.state_of(run))) {
  }
  EXPECT_EQ(rig.tools["send"]->started, 0U);
  rig.on_loop([&] { upkeep.reset(); });
}

TEST(RunRequests, StopsARunThatItsReadersHaveLeftForTooLong) {
  DurableRig rig;
  rig.provider.answers = {begun("Hel"), begun("Hel")};
  const auto opened = rig.open_run("r1", "Go.", "1");
  ASSERT_TRUE(opened.ok());
  const store::RunId run = opened.value().run;
  const auto reader = rig.attach(run, 0);
  rig.on_loop([&] {
    LeftLimits limits;
    limits.most_time = std::chrono::milliseconds{1};
    rig.runs->limit_left(limits);
    rig.hubs.back()->detach(*reader);
  });
  wait_for(rig, run, RunState::cancelled);
}

TEST(RunRequests, StopsTheRunThatWasLeftFirstWhereTooManyAreLeft) {
  DurableRig rig;
  rig.provider.answers = {begun("a"), begun("b")};
  LeftLimits limits;
  limits.most_runs = 1;
  rig.on_loop([&] { rig.runs->limit_left(limits); });
  std::vector<store::RunId> runs;
  for (const std::string name : {"r1", "r2"}) {
    const auto opened = rig.open_run(name, "Go.", name, "", "thread of " + name);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runs.push_back(opened.value().run);
    const auto reader = rig.attach(runs.back(), 0);
    rig.on_loop([&] { rig.hubs.back()->detach(*reader); });
  }
  wait_for(rig, runs[0], RunState::cancelled);
  EXPECT_EQ(rig.state_of(runs[1]), RunState::running);
}

}  // namespace
}  // namespace millrace::run
