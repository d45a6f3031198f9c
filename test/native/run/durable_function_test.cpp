// Runs whose body is a function of the host: what it shows, how it ends, and what becomes of it
// when its process does.
#include <algorithm>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "durable_rig.hpp"
#include "function_host.hpp"
#include "run/durable/function_task.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::FunctionHost;
using Texts = std::vector<std::string>;

class DurableFunction : public test::FunctionTest {
 protected:
  DurableFunction() { use(RunKind::function); }

  // A run that has asked the user, and whose process has ended.
  store::RunId cut_with_a_question() {
    use(RunKind::function, true);
    const store::RunId run = rig.start("Go.");
    answer(next(), ask);
    questions_of(run);
    rig.crash();
    return run;
  }

  const std::string ask = R"({"progress":{"event":"action","name":"confirm"}})";
};

TEST_F(DurableFunction, GetsItsTurnAndShowsTextsInTheirOrder) {
  const store::RunId run = rig.start("Go.");
  const auto request = next();
  EXPECT_EQ(request.run, run);
  const Tree& turn = request.value["turn"];
  EXPECT_EQ(turn["threadId"].string(), "thread");
  ASSERT_EQ(turn["messages"].items().size(), 1U);
  EXPECT_EQ(turn["messages"].items()[0]["content"].string(), "Go.");
  const Tree& about = request.value["run"];
  EXPECT_EQ(about["id"].string(), run.text());
  EXPECT_EQ(about["principal"].string(), "local");
  EXPECT_EQ(about["attempt"].integer_or(0), 1);
  send(request, "one");
  answer(request, R"({"progress":{"event":"custom","name":"seen","value":{"n":1}}})");
  send(request, "two");
  answer(request, R"({"result":"three"})");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "onetwothree");
  EXPECT_EQ(whole->order,
            (Texts{"run", "text", "/text", "text", "/text", "text", "/text", "/run"}));
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  EXPECT_EQ(kind_of(run), "function");
  EXPECT_EQ(host.withdrawn, 0U);
  for (std::size_t after = 0; after <= whole->seqs.size(); ++after) {
    EXPECT_EQ(rig.read(run, after)->seqs.size(), whole->seqs.size() - after);
  }
}

TEST_F(DurableFunction, ShowsWhatItSentWhileItIsAtWork) {
  const store::RunId run = rig.start("Go.");
  const auto request = next();
  const auto one = rig.attach(run, 0);
  send(request, "early");
  wait_for_text(*one, "early");
  const auto two = rig.attach(run, 0);
  wait_for_text(*two, "early");
  answer(request, R"({"result":null})");
  one->ended.get_future().wait();
  two->ended.get_future().wait();
  EXPECT_EQ(one->seqs, two->seqs);
  // What comes after the end is nothing.
  send(request, "late");
  EXPECT_EQ(rig.read(run, 0)->text, "early");
}

TEST_F(DurableFunction, FailsWithTheErrorThatItThrew) {
  const store::RunId run = rig.start("Go.");
  const auto request = next();
  send(request, "so far");
  answer(request, R"({"error":{"code":"timeout","message":"It took too long."}})");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "so far");
  EXPECT_EQ(whole->failed_with, "timeout");
  EXPECT_EQ(rig.state_of(run), RunState::failed);
}

TEST_F(DurableFunction, AcknowledgesWhatItTook) {
  rig.start("Go.");
  const auto request = next();
  answer(request, R"({"progress":{"event":"text","text":"a"},"ack":70000})");
  EXPECT_EQ(host.notices, Texts{R"({"ack":70000})"});
}

TEST_F(DurableFunction, EndsCancelledOnceItHasSettled) {
  const store::RunId run = rig.start("Go.");
  const auto request = next();
  rig.on_loop([&] { EXPECT_TRUE(rig.runs->stop(run, "local", "enough")); });
  wait_until([&] { return !host.notices.empty(); });
  EXPECT_EQ(host.notices, Texts{R"({"stop":true})"});
  send(request, "so far");
  EXPECT_EQ(rig.state_of(run), RunState::running);
  answer(request, R"({"error":{"code":"cancelled","message":"The run was stopped."}})");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "so far");
  EXPECT_EQ(whole->order.back(), "/run");
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
}

TEST_F(DurableFunction, EndsCancelledWithoutItAfterAGrace) {
  const store::RunId run = rig.start("Go.");
  next();
  rig.on_loop([&] { EXPECT_TRUE(rig.runs->stop(run, "local", "enough")); });
  wait_until([&] { return !host.notices.empty(); });
  rig.on_loop([&] { rig.clock.advance(function_stop_grace / 2); });
  EXPECT_EQ(rig.state_of(run), RunState::running);
  rig.on_loop([&] { rig.clock.advance(std::chrono::milliseconds{100}); });
  rig.read(run, 0);
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(host.withdrawn, 1U);
}

TEST_F(DurableFunction, AsksTheUserWhileItIsAtWork) {
  const store::RunId run = rig.start("Go.");
  const auto request = next();
  const auto reader = rig.attach(run, 0);
  send(request, "I ask.");
  answer(request, R"({"progress":{"event":"action","name":"confirm","prompt":"Sure?"}})");
  const std::vector<store::ApprovalRow> open = questions_of(run);
  EXPECT_EQ(open[0].id, run.text() + ".confirm");
  EXPECT_EQ(open[0].kind, journal::ApprovalKind::prompt);
  EXPECT_EQ(Tree::parse(open[0].shown).value()["message"].string(), "Sure?");
  EXPECT_EQ(rig.state_of(run), RunState::running);
  EXPECT_EQ(decide(run, "other", R"({"yes":true})").error().code, Errc::approval_mismatch);
  ASSERT_TRUE(decide(run, "confirm", R"({"yes":true})").ok());
  EXPECT_EQ(decide(run, open[0].id, R"({"yes":false})").error().code, Errc::approval_answered);
  ASSERT_EQ(host.notices.size(), 1U);
  const Tree notice = Tree::parse(host.notices[0]).value();
  EXPECT_EQ(notice["action"].integer_or(0), 1);
  EXPECT_TRUE(notice["answer"]["payload"]["yes"].is_true());
  send(request, "Thanks.");
  answer(request, R"({"result":null})");
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->text, "I ask.Thanks.");
  EXPECT_EQ(reader->seqs, rig.read(run, 0)->seqs);
}

TEST_F(DurableFunction, HearsThatNobodyAnsweredInTime) {
  const store::RunId run = rig.start("Go.");
  const auto request = next();
  const std::string ask = R"({"progress":{"event":"action","name":"confirm","timeoutMs":2000}})";
  answer(request, ask);
  answer(request, ask);
  while (questions_of(run).size() < 2) continue;
  ASSERT_TRUE(decide(run, "confirm#2", R"({"yes":true})").ok());
  rig.store_ms += 2000;
  rig.on_loop([&] { rig.clock.advance(std::chrono::seconds{2}); });
  ASSERT_EQ(host.notices.size(), 2U);
  EXPECT_EQ(Tree::parse(host.notices[0]).value()["action"].integer_or(0), 2);
  EXPECT_EQ(host.notices[1], R"({"action":1,"expired":true})");
  EXPECT_EQ(decide(run, "confirm", R"({"yes":true})").error().code, Errc::approval_answered);
}

TEST_F(DurableFunction, GetsTheAnswersThatItHadWhenItBeginsAgain) {
  const store::RunId run = cut_with_a_question();
  const auto again = next();
  answer(again, ask);
  ASSERT_TRUE(decide(run, "confirm", R"({"yes":true})").ok());
  EXPECT_EQ(host.notices.size(), 1U);
  rig.crash();
  const auto third = next();
  answer(third, ask);
  ASSERT_EQ(host.notices.size(), 2U);
  EXPECT_TRUE(Tree::parse(host.notices[1]).value()["answer"]["payload"]["yes"].is_true());
  answer(third, R"({"result":"done"})");
  EXPECT_EQ(rig.read(run, 0)->text, "done");
}

// The user may be faster than the function that is entered again.
TEST_F(DurableFunction, GetsAnAnswerThatCameBeforeItAsksAgain) {
  const store::RunId run = cut_with_a_question();
  const auto again = next();
  ASSERT_TRUE(decide(run, "confirm", R"({"yes":true})").ok());
  EXPECT_TRUE(host.notices.empty());
  answer(again, ask);
  ASSERT_EQ(host.notices.size(), 1U);
  EXPECT_TRUE(Tree::parse(host.notices[0]).value()["answer"]["payload"]["yes"].is_true());
}

TEST_F(DurableFunction, IsInterruptedByTheEndOfItsProcess) {
  const store::RunId run = rig.start("Go.");
  const auto reader = rig.attach(run, 0);
  send(next(), "half");
  wait_for_text(*reader, "half");
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "half");
  EXPECT_EQ(whole->failed_with, "interrupted");
  EXPECT_EQ(rig.state_of(run), RunState::failed);
  EXPECT_EQ(host.requests.size(), 1U);
}

// A run that waited for its turn is claimed before it begins: another process may claim it then.
TEST_F(DurableFunction, BeginsWithItsMessageWhereTheProcessThatClaimedItEnded) {
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(1, true); });
  std::promise<store::RunId> started;
  rig.on_loop([&] {
    StartRequest request;
    request.name = "agent";
    request.principal = "local";
    request.may_wait = true;
    request.input.thread_id = "thread";
    request.input.run_id = "reader-1";
    request.input.messages_json = R"([{"id":"u","role":"user","content":"Go."}])";
    rig.runs->start(std::move(request),
                    [&](Result<StartedRun> result) { started.set_value(result.value().run); });
  });
  const store::RunId run = started.get_future().get();
  // Its first commit did not reach the disk.
  wait_until([&] { return !rig.runs->lost_reasons().empty(); });
  rig.on_store([&](store::StorageBackend&) { rig.disk->restore(); });
  rig.crash();
  const auto is_entered = [&] {
    bool is_so = false;
    rig.on_loop([&] { is_so = !host.requests.empty(); });
    return is_so;
  };
  while (!is_entered() && !journal::is_over(rig.state_of(run))) continue;
  ASSERT_TRUE(is_entered());
  std::vector<store::MessageRow> messages;
  rig.on_store([&](store::StorageBackend& backend) {
    messages = backend.messages("local", "thread").value();
  });
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].id, "u");
  // Now it has begun.
  rig.crash();
  EXPECT_EQ(rig.read(run, 0)->failed_with, "interrupted");
  EXPECT_EQ(host.requests.size(), 1U);
}

TEST_F(DurableFunction, BeginsAgainBehindAReset) {
  use(RunKind::function, true);
  const store::RunId run = rig.start("Go.");
  const auto reader = rig.attach(run, 0);
  send(next(), "half");
  wait_for_text(*reader, "half");
  const std::string half = reader->message_started;
  rig.crash();
  const auto again = next();
  EXPECT_EQ(again.value["run"]["attempt"].integer_or(0), 2);
  EXPECT_EQ(again.value["turn"]["messages"].items()[0]["content"].string(), "Go.");
  answer(again, R"({"result":"all of it"})");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->resets, 1U);
  EXPECT_EQ(whole->reset_messages, "[\"" + half + "\"]");
  const auto shown = json::Tree::parse(whole->shown_messages);
  ASSERT_TRUE(shown.ok()) << whole->shown_messages;
  ASSERT_EQ(shown.value().items().size(), 1U) << whole->shown_messages;
  EXPECT_EQ(shown.value().items()[0]["content"].string(), "Go.");
  EXPECT_EQ(whole->text, "all of it");
  EXPECT_EQ(std::count(whole->order.begin(), whole->order.end(), "run"), 1);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST_F(DurableFunction, ShowsNoMessagesWithoutTheHistoryOfTheThread) {
  use(RunKind::function, true);
  const auto open = [&](const std::string& ag_ui_run, const std::string& messages) {
    StartRequest request;
    request.name = "agent";
    request.principal = "local";
    request.input.thread_id = "thread";
    request.input.run_id = ag_ui_run;
    request.input.messages_json = messages;
    return rig.request<FoundRun>([&](RunRequests& requests, auto done) {
      requests.open(std::move(request), std::move(done));
    });
  };
  const auto cut = [&](const Result<FoundRun>& run) {
    EXPECT_TRUE(run.ok());
    next();
    rig.crash();
    answer(next(), R"({"result":"done"})");
    const auto whole = rig.read(run.value().run, 0);
    EXPECT_EQ(whole->resets, 1U);
    const auto shown = Tree::parse(whole->shown_messages);
    return shown ? shown.value().items().size() : 0U;
  };
  const std::string one = R"({"id":"u1","role":"user","content":"one"})";
  const std::string two = R"({"id":"u2","role":"user","content":"two"})";
  EXPECT_EQ(cut(open("r1", "[" + one + "]")), 1U);
  // The clients have "one" and its answer, which this run was not given.
  EXPECT_EQ(cut(open("r2", "[" + two + "]")), 0U);
  // Whoever was given the history shows it.
  const std::string three = R"({"id":"u3","role":"user","content":"three"})";
  EXPECT_EQ(cut(open("r3", "[" + one + "," + three + "]")), 2U);
}

TEST_F(DurableFunction, IsGivenUpWhenItsProcessesKeepEnding) {
  use(RunKind::function, true);
  const store::RunId run = rig.start("Go.");
  for (int crashes = 0; crashes < 6; ++crashes) {
    next();
    rig.crash();
  }
  EXPECT_EQ(rig.read(run, 0)->failed_with, "run_not_recoverable");
  EXPECT_EQ(rig.state_of(run), RunState::dead);
}

TEST_F(DurableFunction, DoesNotGoOnAsAnAgent) {
  const store::RunId run = rig.start("Go.");
  next();
  rig.agent.kind = RunKind::agent;
  rig.crash();
  EXPECT_EQ(rig.read(run, 0)->failed_with, "run_not_recoverable");
  EXPECT_EQ(rig.state_of(run), RunState::failed);
}

TEST_F(DurableFunction, FinishesAStopThatACrashCut) {
  use(RunKind::function, true);
  const store::RunId run = rig.start("Go.");
  next();
  rig.on_loop([&] { EXPECT_TRUE(rig.runs->stop(run, "local", "enough")); });
  wait_until([&] { return !host.notices.empty(); });
  rig.crash();
  rig.read(run, 0);
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(host.requests.size(), 1U);
}

TEST(FunctionTask, TakesMessagesThatWereReadBefore) {
  AgentInput input;
  input.thread_id = "thread";
  input.messages_json = R"([{"id":"u","role":"user","content":"Go."}])";
  input.state_json = "null";
  input.state_messages = Tree::parse(R"([{"id":"read","role":"user"}])").value();
  const store::RunId run = store::RunId::next();
  auto task = function_task(run, input);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task.value().messages.to_json(), input.state_messages.to_json());
  EXPECT_EQ(task.value().turn_json,
            R"({"messages":)" + input.messages_json + R"(,"state":null,"threadId":"thread"})");
  EXPECT_EQ(task.value().turn_json,
            function_task(run, "thread", function_input(input)).value().turn_json);
  // Functions get no half of a surrogate pair.
  input.messages_json = R"([{"id":"u","role":"user","content":"\ud83d"}])";
  EXPECT_EQ(function_task(run, input).value().turn_json,
            function_task(run, "thread", function_input(input)).value().turn_json);
}

}  // namespace
}  // namespace millrace::run
