// Jobs: what they record is safe before they go on, answers when they are entered again, and keeps
// while they wait outside the memory.
#include <string>
#include <utility>
#include <vector>

#include "durable_rig.hpp"
#include "function_host.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::DurableRig;
using test::FunctionHost;
using Texts = std::vector<std::string>;

class DurableJob : public test::FunctionTest {
 protected:
  DurableJob() { use(RunKind::job); }

  int begun_ = 0;
  store::RunId begin(const std::string& input = "{}", const std::string& thread = "") {
    std::promise<store::RunId> started;
    rig.on_loop([&] {
      StartRequest request;
      request.name = "agent";
      request.principal = "local";
      request.input.run_id = "reader-" + std::to_string(++begun_);
      request.input.messages_json = "[]";
      request.input.job_json = input;
      request.input.thread_id = thread;
      rig.runs->start(std::move(request),
                      [&](Result<StartedRun> result) { started.set_value(result.value().run); });
    });
    return started.get_future().get();
  }
  void wait_for(const store::RunId& run, RunState state) {
    while (rig.state_of(run) != state) continue;
  }
  // Waits for what the host gets, and gives the last of it.
  Tree notice(std::size_t number) {
    wait_until([&] { return host.notices.size() >= number; });
    return Tree::parse(host.notices.at(number - 1)).value();
  }
  Result<bool> send(const store::RunId& run, const std::string& event, const std::string& payload) {
    const auto given = std::make_shared<std::promise<Result<bool>>>();
    rig.on_loop([&] {
      rig.runs->send(run, event, Tree::parse(payload).value(),
                     [given](Result<bool> sent) { given->set_value(std::move(sent)); });
    });
    return given->get_future().get();
  }
  // The rows of the ledger that the host was given, by their names.
  static Tree row_of(const FunctionHost::Request& request, const std::string& call) {
    for (const Tree& row : request.value["ledger"].items()) {
      if (row["call"].string() == call) return row;
    }
    return {};
  }
};

TEST_F(DurableJob, GetsItsInputAndGivesAResult) {
  const store::RunId run = begin(R"({"file":"a.csv"})");
  const auto request = next();
  EXPECT_EQ(request.value["turn"]["input"]["file"].string(), "a.csv");
  EXPECT_EQ(request.value["ledger"].items().size(), 0U);
  answer(request, R"({"result":{"rows":3}})");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->order, (Texts{"run", "/run"}));
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  const auto info = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.describe(run.text(), "local", "", std::move(done));
  });
  EXPECT_EQ(Tree::parse(info.value()).value()["result"]["rows"].integer_or(0), 3);
  EXPECT_EQ(Tree::parse(info.value()).value()["kind"].string(), "job");
}

TEST_F(DurableJob, HearsOfAStepOnceItIsStored) {
  const store::RunId run = begin();
  const auto request = next();
  answer(request, R"({"progress":{"event":"step","name":"fetch","n":1,"state":"ok",)"
                  R"("effect":"keyed","result":[1,2]},"op":7})");
  EXPECT_EQ(notice(1)["done"].integer_or(0), 7);
  std::vector<store::CallRow> rows;
  rig.on_store([&](store::StorageBackend& backend) { rows = backend.calls(run).value(); });
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].call, "fetch#1");
  EXPECT_EQ(rows[0].kind, journal::CallKind::step);
  EXPECT_EQ(rows[0].state, journal::CallState::ok);
  EXPECT_EQ(rows[0].effect, journal::Effect::keyed);
  EXPECT_EQ(rows[0].result, "[1,2]");
}

TEST_F(DurableJob, AnswersFromTheLedgerAfterACrash) {
  const store::RunId run = begin();
  const auto request = next();
  answer(request, R"({"progress":{"event":"step","name":"a","n":1,"state":"ok",)"
                  R"("effect":"read","result":"one"},"op":1})");
  answer(request, R"({"progress":{"event":"step","name":"b","n":1,"state":"error",)"
                  R"("effect":"keyed","result":{"code":"timeout","message":"late"}},"op":2})");
  answer(request, R"({"progress":{"event":"step","name":"c","n":1,"state":"started",)"
                  R"("effect":"once"},"op":3})");
  notice(3);
  rig.crash();
  const auto again = next();
  EXPECT_EQ(again.value["run"]["attempt"].integer_or(0), 2);
  EXPECT_EQ(row_of(again, "a#1")["state"].string(), "ok");
  EXPECT_EQ(row_of(again, "a#1")["result"].string(), "one");
  EXPECT_EQ(row_of(again, "b#1")["result"]["code"].string(), "timeout");
  EXPECT_EQ(row_of(again, "c#1")["state"].string(), "started");
  EXPECT_EQ(row_of(again, "c#1")["effect"].string(), "once");
  answer(again, R"({"result":null})");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->resets, 0U);
  EXPECT_EQ(whole->order, (Texts{"run", "/run"}));
}

TEST_F(DurableJob, IsGivenUpOnlyWhereItDoesNotComeAlong) {
  const store::RunId run = begin();
  for (int crashes = 0; crashes < 8; ++crashes) {
    const std::string n = std::to_string(crashes + 1);
    answer(next(), R"({"progress":{"event":"step","name":"a","n":)" + n +
                       R"(,"state":"ok","effect":"read"},"op":1})");
    notice(static_cast<std::size_t>(crashes) + 1);
    rig.crash();
  }
  for (int crashes = 0; crashes < 5; ++crashes) {
    next();
    rig.crash();
  }
  EXPECT_EQ(rig.read(run, 0)->failed_with, "run_not_recoverable");
  EXPECT_EQ(rig.state_of(run), RunState::dead);
}

TEST_F(DurableJob, SleepsOutsideTheMemoryUntilItsTime) {
  const store::RunId run = begin();
  const auto reader = rig.attach(run, 0);
  const auto request = next();
  const std::string until = std::to_string(DurableRig::start_ms + 60'000);
  answer(request,
         R"({"progress":{"event":"sleep","name":"nap","n":1,"until":)" + until + R"(},"op":1})");
  notice(1);
  answer(request, R"({"progress":{"event":"idle","until":)" + until + "}}");
  EXPECT_TRUE(notice(2)["suspended"].is_true());
  wait_for(run, RunState::sleeping);
  EXPECT_EQ(host.withdrawn, 1U);
  rig.on_loop([&] {
    EXPECT_EQ(rig.runs->at_work(), 0U);
    rig.runs->recover();
  });
  rig.store_ms += 60'000;
  rig.on_loop([&] {
    rig.clock.advance(std::chrono::minutes{1});
    rig.runs->recover();
  });
  const auto again = next();
  EXPECT_EQ(row_of(again, "nap#1")["kind"].string(), "sleep");
  EXPECT_EQ(row_of(again, "nap#1")["until"].integer_or(0), DurableRig::start_ms + 60'000);
  answer(again, R"({"result":null})");
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->order, (Texts{"run", "/run"}));
  EXPECT_EQ(reader->seqs, rig.read(run, 0)->seqs);
}

TEST_F(DurableJob, IsNotEnteredAtOnceWhereItsTimeIsOver) {
  const store::RunId run = begin();
  answer(next(), R"({"progress":{"event":"idle","until":1}})");
  wait_for(run, RunState::sleeping);
  rig.on_store([&](store::StorageBackend& backend) {
    EXPECT_EQ(backend.next_due().value(), std::optional(DurableRig::start_ms + 1000));
  });
}

TEST_F(DurableJob, KeepsEventsUntilTheyAreTaken) {
  const store::RunId run = begin();
  const auto request = next();
  ASSERT_TRUE(send(run, "paid", R"({"sum":1})").ok());
  const Tree first = notice(1);
  EXPECT_EQ(first["event"]["name"].string(), "paid");
  EXPECT_EQ(first["event"]["payload"]["sum"].integer_or(0), 1);
  answer(request, R"({"progress":{"event":"idle","seen":1}})");
  wait_for(run, RunState::sleeping);
  ASSERT_TRUE(send(run, "paid", R"({"sum":2})").ok());
  const auto again = next();
  EXPECT_EQ(row_of(again, "event:paid#1")["result"]["sum"].integer_or(0), 1);
  EXPECT_EQ(row_of(again, "event:paid#2")["result"]["sum"].integer_or(0), 2);
  // It was entered with the event, which comes once.
  answer(again, R"({"result":null})");
  rig.read(run, 0);
  EXPECT_EQ(host.notices.size(), 2U);
  EXPECT_EQ(send(run, "paid", "3").error().code, Errc::invalid_state);
  EXPECT_EQ(send(store::RunId(), "paid", "3").error().code, Errc::run_not_found);
}

TEST_F(DurableJob, GetsEventsInTheirOrderAlsoFromTheTenthOn) {
  const store::RunId run = begin();
  next();
  for (int event = 1; event <= 12; ++event) {
    ASSERT_TRUE(send(run, "tick", std::to_string(event)).ok());
  }
  rig.crash();
  const auto again = next();
  const auto& rows = again.value["ledger"].items();
  ASSERT_EQ(rows.size(), 12U);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at]["call"].string(), "event:tick#" + std::to_string(at + 1));
  }
}

TEST_F(DurableJob, StaysWhereItDoesNotKnowYetWhatHappened) {
  const store::RunId run = begin();
  const auto request = next();
  ASSERT_TRUE(send(run, "paid", "1").ok());
  answer(request, R"({"progress":{"event":"idle","seen":0}})");
  answer(request, R"({"progress":{"event":"text","text":"still here"}})");
  wait_for_text(*rig.attach(run, 0), "still here");
  EXPECT_EQ(rig.state_of(run), RunState::running);
  answer(request, R"({"progress":{"event":"idle","seen":1}})");
  wait_for(run, RunState::sleeping);
}

TEST_F(DurableJob, WaitsForTheUserOutsideTheMemory) {
  const store::RunId run = begin();
  const auto request = next();
  answer(request, R"({"progress":{"event":"action","name":"approve","prompt":"Pay?"}})");
  answer(request, R"({"progress":{"event":"idle"}})");
  wait_for(run, RunState::waiting);
  rig.crash();
  ASSERT_TRUE(decide(run, "approve", R"({"approved":true})").ok());
  const auto again = next();
  const std::size_t before = host.notices.size();
  answer(again, R"({"progress":{"event":"action","name":"approve","prompt":"Pay?"}})");
  EXPECT_TRUE(notice(before + 1)["answer"]["payload"]["approved"].is_true());
  answer(again, R"({"result":"paid"})");
  rig.read(run, 0);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
}

TEST_F(DurableJob, GoesOnWhereItsQuestionExpiredWhileItWorked) {
  const store::RunId run = begin();
  const auto request = next();
  answer(request, R"({"progress":{"event":"action","name":"approve","prompt":"Pay?",)"
                  R"("timeoutMs":60000}})");
  questions_of(run);
  // The store's clock is ahead of that of the job.
  rig.store_ms += 120'000;
  rig.on_store([](store::StorageBackend& backend) { EXPECT_TRUE(backend.sweep({}).ok()); });
  answer(request, R"({"progress":{"event":"idle"}})");
  wait_for(run, RunState::queued);
  rig.on_loop([&] { rig.runs->recover(); });
  const auto again = next();
  const std::size_t before = host.notices.size();
  answer(again, R"({"progress":{"event":"action","name":"approve","prompt":"Pay?"}})");
  EXPECT_TRUE(notice(before + 1)["expired"].is_true());
  answer(again, R"({"result":null})");
  wait_for(run, RunState::completed);
}

TEST_F(DurableJob, IsStoppedWhileItSleeps) {
  const store::RunId run = begin();
  answer(next(), R"({"progress":{"event":"idle"}})");
  wait_for(run, RunState::sleeping);
  const auto reader = rig.attach(run, 0);
  const auto stopped = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.stop(run.text(), "local", "", "enough", std::move(done));
  });
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->order.back(), "/run");
}

// A job that sleeps leaves its thread to others.
TEST_F(DurableJob, TakesEventsWhileItsThreadIsBusy) {
  const store::RunId run = begin("{}", "thread");
  answer(next(), R"({"progress":{"event":"idle"}})");
  wait_for(run, RunState::sleeping);
  const store::RunId other = begin("{}", "thread");
  const auto busy = next();
  EXPECT_EQ(busy.run, other);
  ASSERT_TRUE(send(run, "paid", "1").ok());
  ASSERT_TRUE(send(run, "paid", "2").ok());
  answer(busy, R"({"result":null})");
  wait_for(other, RunState::completed);
  const auto again = next();
  EXPECT_EQ(again.run, run);
  EXPECT_EQ(row_of(again, "event:paid#1")["result"].integer_or(0), 1);
  EXPECT_EQ(row_of(again, "event:paid#2")["result"].integer_or(0), 2);
}

TEST_F(DurableJob, IsStoppedWhileItsThreadIsBusy) {
  const store::RunId run = begin("{}", "thread");
  answer(next(), R"({"progress":{"event":"idle"}})");
  wait_for(run, RunState::sleeping);
  begin("{}", "thread");
  next();
  const auto stopped = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.stop(run.text(), "local", "", "enough", std::move(done));
  });
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
}

TEST_F(DurableJob, EndsForItsReadersWhenItIsDeletedElsewhere) {
  const store::RunId run = begin();
  answer(next(), R"({"progress":{"event":"idle"}})");
  wait_for(run, RunState::sleeping);
  const auto reader = rig.attach(run, 0);
  rig.on_store([&](store::StorageBackend& backend) { EXPECT_TRUE(backend.delete_run(run).ok()); });
  rig.on_loop([&] { rig.runs->refresh(run); });
  reader->ended.get_future().wait();
  ASSERT_TRUE(reader->failure);
  EXPECT_EQ(reader->failure->code, Errc::run_not_found);
}

TEST_F(DurableJob, IsLookedAtWithAllOthersAtOnce) {
  std::vector<store::RunId> runs;
  std::vector<std::shared_ptr<test::RecordLog>> readers;
  for (int number = 0; number < 3; ++number) {
    runs.push_back(begin());
    answer(next(), R"({"progress":{"event":"idle"}})");
    wait_for(runs.back(), RunState::sleeping);
    readers.push_back(rig.attach(runs.back(), 0));
  }
  // As another environment goes on with them.
  rig.on_store([&](store::StorageBackend& backend) {
    for (const store::RunId& run : runs) {
      EXPECT_TRUE(backend.claim_run(run, "another").value());
    }
  });
  rig.on_loop([&] { rig.runs->refresh(runs); });
  for (const auto& reader : readers) {
    const auto claimed = journal::Fact(journal::Claimed{}).index();
    wait_until([&] { return !reader->facts.empty() && reader->facts.back() == claimed; });
  }
  rig.on_store([&](store::StorageBackend&) { EXPECT_EQ(rig.disk->watches(), 1U); });
}

TEST_F(DurableJob, HearsOfAnswersAndStopsInOtherEnvironments) {
  const store::RunId run = begin();
  const auto request = next();
  answer(request, R"({"progress":{"event":"action","name":"approve","prompt":"Pay?"}})");
  questions_of(run);
  std::shared_ptr<RunRegistry> runs;
  const auto given = std::make_shared<std::promise<Result<std::string>>>();
  const auto report = [given](Result<std::string> result) { given->set_value(std::move(result)); };
  rig.on_loop([&] { runs = rig.environment("another"); });
  auto requests = std::make_shared<RunRequests>(rig.loop, rig.writer, runs);
  rig.on_loop([&] {
    requests->decide(run.text(), "approve", "local", Tree::parse(R"({"approved":true})").value(),
                     report);
  });
  ASSERT_TRUE(given->get_future().get().ok());
  EXPECT_TRUE(notice(1)["answer"]["payload"]["approved"].is_true());
  rig.on_loop([&] {
    requests->stop(run.text(), "local", "", "enough", [](const Result<std::string>&) {});
  });
  EXPECT_TRUE(notice(2)["stop"].is_true());
  rig.on_loop([&] {
    requests.reset();
    runs.reset();
  });
}

TEST_F(DurableJob, NeedsNoThread) {
  const store::RunId one = begin();
  next();
  const store::RunId other = begin();
  next();
  EXPECT_NE(one, other);
  EXPECT_EQ(rig.state_of(one), RunState::running);
  EXPECT_EQ(rig.state_of(other), RunState::running);
}

}  // namespace
}  // namespace millrace::run
