// Runs, their journals, claims and the ledger.
#include <limits>

#include "store/conformance.hpp"

namespace millrace::store {

std::string texts_of(StorageBackend& backend, std::uint64_t number, std::uint64_t after) {
  std::string texts;
  auto pages = backend.read(id_of(number), after, std::size_t{1} << 30U);
  if (!pages) return std::string(pages.error().code_name());
  for (const StoredPage& page : pages.value()) {
    journal::PageReader reader(page.bytes, page.last, page.count);
    for (auto record = reader.next();; record = reader.next()) {
      if (!record) return "damaged";
      if (record.value() == nullptr) break;
      if (record.value()->seq <= after) continue;
      if (!texts.empty()) texts += '|';
      const auto* event = std::get_if<event::Event>(&record.value()->body);
      if (event != nullptr) {
        texts += std::get<event::TextDelta>(event->body).delta;
      } else {
        texts += record.value()->span > 1 ? "-" + std::to_string(record.value()->span) : "#";
      }
    }
  }
  return texts;
}

namespace {

using journal::CallState;
using journal::RunState;

TEST_P(StorageConformance, NumbersTheRecordsOfEachRunFromOne) {
  const std::vector<AppendBatch> batches{accepting(new_run(1)), accepting(new_run(2)),
                                         text_batch(1, "a"), text_batch(2, "x"),
                                         text_batch(1, "b")};
  const auto outcomes = backend().append(batches);
  ASSERT_EQ(outcomes.size(), 5U);
  for (const AppendOutcome& outcome : outcomes) EXPECT_EQ(outcome.status, AppendStatus::committed);
  EXPECT_EQ(outcomes[4].first, 3U);
  EXPECT_EQ(outcomes[4].last, 3U);
  EXPECT_EQ(outcomes[3].last, 2U);
  EXPECT_EQ(texts_of(backend(), 1), "#|a|b");
  EXPECT_EQ(texts_of(backend(), 1, 2), "b");
  EXPECT_EQ(texts_of(backend(), 1, 3), "");
  EXPECT_EQ(texts_of(backend(), 2), "#|x");
  EXPECT_EQ(texts_of(backend(), 3), "run_not_found");
  EXPECT_EQ(row(1).last, 3U);
  const RunId both[]{id_of(2), id_of(1)};
  const auto heads = backend().watch(both);
  ASSERT_TRUE(heads.ok());
  ASSERT_EQ(heads.value().size(), 2U);
  EXPECT_EQ(heads.value()[1].last, 3U);
}

TEST_P(StorageConformance, ReadsAtLeastOnePageAndNoMoreBytesThanWanted) {
  append(accepting(new_run(1)));
  for (int page = 0; page < 20; ++page) append(text_batch(1, std::string(1000, 'x')));
  const auto few = backend().read(id_of(1), 0, 1);
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few.value().size(), 1U);
  const auto some = backend().read(id_of(1), 1, 5500);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some.value().size(), 5U);
}

TEST_P(StorageConformance, FencesWritersWithoutAClaim) {
  EXPECT_EQ(append(text_batch(9, "x")).status, AppendStatus::fenced);
  append(accepting(new_run(1)));
  EXPECT_EQ(append(text_batch(1, "x", 0)).status, AppendStatus::fenced);
  EXPECT_EQ(append(text_batch(1, "x", 2)).status, AppendStatus::fenced);
  append(accepting(new_run(2, "")));
  EXPECT_EQ(append(text_batch(2, "x", 0)).status, AppendStatus::fenced);
  EXPECT_EQ(change(1, RunState::completed).status, AppendStatus::committed);
  EXPECT_EQ(append(text_batch(1, "late")).status, AppendStatus::fenced);
  EXPECT_EQ(texts_of(backend(), 1), "#");
  EXPECT_TRUE(row(1).ended);
  EXPECT_EQ(row(1).run.owner, "");
}

TEST_P(StorageConformance, WritesNothingBehindABatchThatFailed) {
  append(accepting(new_run(1)));
  AppendBatch broken = text_batch(1, "b");
  broken.changes.push_back({.run = id_of(77)});
  const std::vector<AppendBatch> batches{text_batch(1, "a"), broken, text_batch(1, "c"),
                                         accepting(new_run(2))};
  const auto outcomes = backend().append(batches);
  EXPECT_EQ(outcomes[0].status, AppendStatus::committed);
  EXPECT_EQ(outcomes[1].status, AppendStatus::failed);
  EXPECT_TRUE(outcomes[1].error);
  EXPECT_EQ(outcomes[2].status, AppendStatus::fenced);
  EXPECT_EQ(outcomes[3].status, AppendStatus::committed);
  EXPECT_EQ(texts_of(backend(), 1), "#|a");
  EXPECT_EQ(append(text_batch(1, "d")).last, 3U);
}

TEST_P(StorageConformance, AcceptsARequestOnce) {
  NewRun run = new_run(1);
  run.idem_key = "key";
  run.idem_hash = "hash";
  EXPECT_EQ(append(accepting(run)).status, AppendStatus::committed);
  run.id = id_of(2);
  auto again = append(accepting(run));
  EXPECT_EQ(again.status, AppendStatus::existing);
  EXPECT_EQ(again.run, id_of(1));
  EXPECT_EQ(backend().run_with_key("alice", "key").value()->run.id, id_of(1));
  EXPECT_FALSE(backend().run_with_key("alice", "another key").value());
  EXPECT_FALSE(backend().run_with_key("bob", "key").value());
  run.idem_hash = "other";
  EXPECT_EQ(append(accepting(run)).status, AppendStatus::conflict);
  run.principal = "bob";
  EXPECT_EQ(append(accepting(run)).status, AppendStatus::committed);
  EXPECT_EQ(append(accepting(new_run(1))).status, AppendStatus::conflict);
}

TEST_P(StorageConformance, KnowsSegmentsByTheReadersId) {
  AppendBatch batch = accepting(new_run(1));
  batch.segment = SegmentRow{{}, 0, "alice", "t", "r1", "body"};
  EXPECT_EQ(append(batch).status, AppendStatus::committed);
  AppendBatch next = text_batch(1, "x");
  next.segment = SegmentRow{{}, 0, "alice", "t", "r2", "body"};
  EXPECT_EQ(append(next).status, AppendStatus::committed);
  AppendBatch again = accepting(new_run(2));
  again.segment = batch.segment;
  const auto outcome = append(again);
  EXPECT_EQ(outcome.status, AppendStatus::existing);
  EXPECT_EQ(outcome.run, id_of(1));
  again.segment->body_hash = "another";
  EXPECT_EQ(append(again).status, AppendStatus::conflict);
  EXPECT_FALSE(backend().run(id_of(2)).value());
  const auto found = backend().segments("alice", "r2");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found.value().size(), 1U);
  EXPECT_EQ(found.value()[0].first, 2U);
  EXPECT_EQ(found.value()[0].run, id_of(1));
  EXPECT_TRUE(backend().segments("bob", "r2").value().empty());
}

TEST_P(StorageConformance, ClaimsWhatIsDueTheLongestWaitingFirst) {
  now_ += 10;
  append(accepting(new_run(1, "")));
  now_ += 10;
  append(accepting(new_run(2, "")));
  append(accepting(new_run(3)));
  NewRun later = new_run(4, "");
  later.run_at = now_ + 1000;
  append(accepting(later));
  EXPECT_EQ(backend().next_due().value(), std::optional(row(1).run.run_at));
  auto claims = claim(1);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].run.run.id, id_of(1));
  EXPECT_EQ(claims[0].run.epoch, 1);
  EXPECT_EQ(claims[0].run.recoveries, 0);
  EXPECT_EQ(claims[0].cause, "queued");
  EXPECT_EQ(claims[0].run.last, 2U);
  EXPECT_EQ(append(text_batch(1, "x", 1)).last, 3U);
  claims = claim();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].run.run.id, id_of(2));
  EXPECT_TRUE(claim().empty());
  now_ += 1000;
  EXPECT_EQ(claim().size(), 1U);
  const std::string other = "another agent";
  EXPECT_TRUE(backend().claim({&other, 1}, "next", 10).value().empty());
}

TEST_P(StorageConformance, RecoversWhatItsOwnerLeft) {
  AppendBatch batch = accepting(new_run(1));
  NewRun child = new_run(11, "");
  child.root = child.parent = id_of(1);
  child.parent_call = "call";
  batch.children.push_back(child);
  child.id = id_of(12);
  batch.children.push_back(child);
  ASSERT_EQ(append(batch).status, AppendStatus::committed);
  AppendBatch over = text_batch(1, "x");
  over.changes.push_back({.run = id_of(12), .state = RunState::completed});
  ASSERT_EQ(append(over).status, AppendStatus::committed);
  EXPECT_TRUE(claim().empty());
  now_ += 500;
  EXPECT_EQ(backend().release("owner", Release::lost).value(), 1U);
  const auto claims = claim();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].run.epoch, 2);
  EXPECT_EQ(claims[0].run.recoveries, 1);
  EXPECT_EQ(claims[0].cause, "recovered");
  EXPECT_EQ(claims[0].downtime_ms, now_ - 1);  // since its last record
  ASSERT_EQ(claims[0].children.size(), 1U);
  EXPECT_EQ(claims[0].children[0].run.id, id_of(11));
  EXPECT_EQ(claims[0].children[0].epoch, 2);
  EXPECT_EQ(append(text_batch(1, "of before", 1)).status, AppendStatus::fenced);
  EXPECT_EQ(append(text_batch(1, "y", 2)).status, AppendStatus::committed);
  EXPECT_EQ(texts_of(backend(), 1), "#|x|#|y");
  EXPECT_EQ(backend().children(id_of(1)).value().size(), 2U);
}

TEST_P(StorageConformance, LeavesAThreadToOneRun) {
  ASSERT_EQ(append(accepting(new_run(1, "owner", "t"))).status, AppendStatus::committed);
  const auto busy = append(accepting(new_run(2, "owner", "t")));
  EXPECT_EQ(busy.status, AppendStatus::busy);
  EXPECT_EQ(busy.run, id_of(1));
  EXPECT_FALSE(backend().run(id_of(2)).value());
  ASSERT_EQ(append(accepting(new_run(3, "", "t"))).status, AppendStatus::committed);
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(change(1, RunState::waiting).status, AppendStatus::committed);
  EXPECT_TRUE(claim().empty());
  const auto taken = backend().claim_run(id_of(1), "stopper");
  ASSERT_TRUE(taken.ok() && taken.value());
  EXPECT_EQ(taken.value()->cause, "waiting");
  EXPECT_EQ(change(1, RunState::cancelled).status, AppendStatus::committed);
  ASSERT_EQ(claim().size(), 1U);
  EXPECT_EQ(row(3).run.owner, "next");
  NewRun bobs = new_run(4, "owner", "t");
  bobs.principal = "bob";
  EXPECT_EQ(append(accepting(bobs)).status, AppendStatus::committed);
  EXPECT_FALSE(backend().claim_run(id_of(1), "x").value());
  EXPECT_FALSE(backend().claim_run(id_of(3), "x").value());
  EXPECT_EQ(backend().claim_run(id_of(99), "x").error().code, Errc::run_not_found);
}

TEST_P(StorageConformance, KeepsTheTurnOfAParkedRun) {
  append(accepting(new_run(1, "owner", "t")));
  EXPECT_EQ(change(1, RunState::parked, now_ + 100).status, AppendStatus::committed);
  const auto busy = append(accepting(new_run(2, "owner", "t")));
  EXPECT_EQ(busy.status, AppendStatus::busy);
  EXPECT_EQ(busy.run, id_of(1));
  ASSERT_EQ(append(accepting(new_run(3, "", "t"))).status, AppendStatus::committed);
  EXPECT_TRUE(claim().empty());
  EXPECT_FALSE(backend().claim_run(id_of(3), "next").value());
  EXPECT_TRUE(backend().claim_run(id_of(1), "next").value());
  EXPECT_EQ(change(1, RunState::completed).status, AppendStatus::committed);
  EXPECT_EQ(claim().size(), 1U);
  EXPECT_EQ(row(3).run.owner, "next");
}

TEST_P(StorageConformance, HasAThreadNotHeldByADamagedRun) {
  append(accepting(new_run(1, "owner", "t")));
  AppendBatch batch = parking(id_of(1), row(1).epoch, "store_damaged", now_);
  batch.changes.back().run_at = now_ + 100;
  ASSERT_EQ(append(batch).status, AppendStatus::committed);
  ASSERT_EQ(append(accepting(new_run(2, "", "t"))).status, AppendStatus::committed);
  EXPECT_EQ(claim().size(), 1U);
  EXPECT_EQ(row(2).run.owner, "next");
}

TEST_P(StorageConformance, WakesSleepersWhenTheirTimeComes) {
  append(accepting(new_run(1)));
  EXPECT_EQ(change(1, RunState::sleeping, now_ + 100).status, AppendStatus::committed);
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(backend().next_due().value(), std::optional(now_ + 100));
  now_ += 100;
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(StorageConformance, LetsASleeperSleepByAClockThatWasSetBack) {
  append(accepting(new_run(1)));
  const std::int64_t seen = backend().now();
  now_ -= 3'600'000;
  EXPECT_EQ(change(1, RunState::sleeping, now_ + 100).status, AppendStatus::committed);
  EXPECT_EQ(backend().next_due().value(), std::optional(seen + 100));
  EXPECT_TRUE(claim().empty());
  now_ += 100;
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(StorageConformance, LeavesAParkedRunUntilItsTime) {
  append(accepting(new_run(1)));
  EXPECT_EQ(change(1, RunState::parked, now_ + 100).status, AppendStatus::committed);
  EXPECT_TRUE(claim().empty());
  now_ += 100;
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(StorageConformance, HasARunDueThatWasGivenBackHoweverLongItWasToSleep) {
  append(accepting(new_run(1)));
  change(1, RunState::sleeping, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(backend().claim_run(id_of(1), "next").value());
  EXPECT_EQ(change(1, RunState::parked).status, AppendStatus::committed);
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(StorageConformance, WritesNoFactFromBeforeTheLastRecord) {
  const auto time_of = [&] {
    return end_of(backend().read(id_of(1), row(1).last - 1, 1).value().back());
  };
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.page = page_of_text("asked", now_ + 1000);
  ApprovalRow approval;
  approval.id = "a";
  approval.run = id_of(1);
  approval.principal = "alice";
  batch.approvals = {approval};
  append(batch);
  Decision decision;
  decision.approval = "a";
  decision.principal = "alice";
  ASSERT_EQ(backend().decide(decision).value().status, DecisionStatus::decided);
  EXPECT_EQ(time_of(), now_ + 1000);
  ASSERT_TRUE(backend().release("owner", Release::lost).ok());
  ASSERT_EQ(claim().size(), 1U);
  EXPECT_EQ(time_of(), now_ + 1000);
}

TEST_P(StorageConformance, KeepsTheLastFullCheckpointAndWhatFollows) {
  append(accepting(new_run(1)));
  const auto save = [&](std::int64_t number, bool is_full, std::string data) {
    AppendBatch batch = text_batch(1, "step");
    batch.checkpoints.push_back({id_of(1), number, 0, is_full, std::move(data)});
    return append(batch).last;
  };
  save(1, true, "one");
  save(2, false, "two");
  EXPECT_EQ(backend().checkpoints(id_of(1)).value().size(), 2U);
  const auto last = save(3, true, std::string("three\0x", 7));
  // Where it is damaged, the ones before it are there.
  EXPECT_EQ(backend().checkpoints(id_of(1)).value().size(), 3U);
  save(4, false, "");
  const auto rows = backend().checkpoints(id_of(1)).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].data, std::string("three\0x", 7));
  EXPECT_EQ(rows[0].seq, last);
  EXPECT_TRUE(rows[0].is_full);
  EXPECT_EQ(rows[1].number, 4);
}

TEST_P(StorageConformance, KeepsNoMoreFullCheckpointsThanOneAndTheLast) {
  append(accepting(new_run(1)));
  const auto save = [&](std::int64_t number, bool is_full) {
    AppendBatch batch = text_batch(1, "step");
    batch.checkpoints.push_back({id_of(1), number, 0, is_full, std::to_string(number)});
    append(batch);
    std::string numbers;
    const auto rows = backend().checkpoints(id_of(1));
    for (const CheckpointRow& row : rows.value()) {
      EXPECT_TRUE(row.checksum);
      EXPECT_EQ(row.data, std::to_string(row.number));
      numbers += std::to_string(row.number) + (row.is_full ? "f " : " ");
    }
    return numbers;
  };
  EXPECT_EQ(save(0, true), "0f ");
  EXPECT_EQ(save(1, false), "0f 1 ");
  EXPECT_EQ(save(2, false), "0f 1 2 ");
  EXPECT_EQ(save(3, true), "0f 1 2 3f ");
  EXPECT_EQ(save(4, true), "3f 4f ");
  EXPECT_EQ(save(5, false), "4f 5 ");
  EXPECT_EQ(save(6, false), "4f 5 6 ");
  // The run went on from one before the last.
  EXPECT_EQ(save(5, false), "4f 5 ");
}

TEST_P(StorageConformance, MissesACheckpointThatTheJournalHas) {
  append(accepting(new_run(1)));
  AppendBatch batch;
  batch.run = id_of(1);
  batch.epoch = 1;
  batch.page = page_of(journal::Checkpoint{1, 0, true}, now_);
  batch.checkpoints.push_back({id_of(1), 0, 0, true, "{}"});
  append(batch);
  EXPECT_TRUE(backend().check().value().empty());
  batch.page = page_of(journal::Checkpoint{2, 1, false}, now_);
  batch.checkpoints.clear();
  append(batch);
  const auto problems = backend().check().value();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].run, id_of(1));
  EXPECT_NE(problems[0].what.find("Checkpoint 1"), std::string::npos) << problems[0].what;
}

TEST_P(StorageConformance, HoldsTheLedgerToItsRules) {
  append(accepting(new_run(1)));
  const auto move = [&](std::string call, CallState state, std::string result = {}) {
    AppendBatch batch = text_batch(1, call);
    CallRow row;
    row.run = id_of(1);
    row.call = std::move(call);
    row.name = "pay";
    row.effect = journal::Effect::keyed;
    row.args = "{}";
    row.state = state;
    row.result = std::move(result);
    batch.calls.push_back(row);
    return append(batch).status;
  };
  EXPECT_EQ(move("b", CallState::intent), AppendStatus::committed);
  EXPECT_EQ(move("a", CallState::intent), AppendStatus::committed);
  EXPECT_EQ(move("b", CallState::started), AppendStatus::committed);
  EXPECT_EQ(move("b", CallState::ok, "paid"), AppendStatus::committed);
  EXPECT_EQ(move("b", CallState::started), AppendStatus::failed);
  const auto rows = backend().calls(id_of(1)).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].call, "b");
  EXPECT_EQ(rows[0].state, CallState::ok);
  EXPECT_EQ(rows[0].result, "paid");
  EXPECT_EQ(rows[0].effect, journal::Effect::keyed);
  EXPECT_EQ(rows[1].call, "a");
  EXPECT_EQ(texts_of(backend(), 1), "#|b|a|b|b");
}

// Ids are bytes without a sign: half of them begin with one that a `char` holds as a negative
// number.
TEST_P(StorageConformance, ListsEachRunOfOneMomentOnce) {
  constexpr std::uint64_t count = 40;
  std::set<RunId> begun;
  for (std::uint64_t number = 1; number <= count; ++number) {
    NewRun run = new_run(number);
    std::string bytes(run.id.bytes());
    bytes.front() = static_cast<char>(number * 37 % 256);
    run.id = RunId::of_bytes(bytes);
    run.thread.clear();
    begun.insert(run.id);
    EXPECT_EQ(append(accepting(run)).status, AppendStatus::committed);
  }
  for (const std::size_t limit : {1U, 3U, 7U, 39U}) {
    RunQuery query;
    query.limit = limit;
    std::vector<RunId> seen;
    do {
      const auto list = backend().runs(query);
      ASSERT_TRUE(list.ok());
      for (const RunRow& row : list.value().runs) seen.push_back(row.run.id);
      query.before = list.value().next;
    } while (!query.before.empty() && seen.size() <= 2 * count);
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(std::set<RunId>(seen.begin(), seen.end()), begun);
  }
}

TEST_P(StorageConformance, ListsRunsTheNewestFirst) {
  for (std::uint64_t number = 1; number <= 7; ++number) {
    now_ += number % 2 == 0 ? 1 : 0;
    append(accepting(new_run(number)));
  }
  NewRun bobs = new_run(8);
  bobs.principal = "bob";
  append(accepting(bobs));
  RunQuery query;
  query.principal = "alice";
  query.limit = 3;
  std::vector<RunId> seen;
  do {
    const auto list = backend().runs(query);
    ASSERT_TRUE(list.ok());
    for (const RunRow& row : list.value().runs) seen.push_back(row.run.id);
    query.before = list.value().next;
  } while (!query.before.empty() && seen.size() < 20);
  ASSERT_EQ(seen.size(), 7U);
  EXPECT_EQ(seen[0], std::max(id_of(7), id_of(6)));
  query = {};
  query.states = {RunState::completed};
  EXPECT_TRUE(backend().runs(query).value().runs.empty());
  EXPECT_EQ(backend().runs({}).value().runs.size(), 8U);
  const auto count = [&](std::vector<RunState> states) {
    query.states = std::move(states);
    return backend().runs(query).value().runs.size();
  };
  const std::size_t running = count({RunState::running});
  const std::size_t queued = count({RunState::queued});
  EXPECT_EQ(count({RunState::completed, RunState::running}), running);
  EXPECT_EQ(count({RunState::queued, RunState::running}), queued + running);
  EXPECT_GT(queued + running, 0U);
}

TEST_P(StorageConformance, DeletesARunWithAllThatIsItsOwn) {
  AppendBatch batch = accepting(new_run(1));
  batch.outbox.push_back({"o", id_of(1), "http://x", "{}", 0, 0});
  append(batch);
  append(accepting(new_run(2)));
  EXPECT_TRUE(backend().delete_run(id_of(1)).ok());
  EXPECT_EQ(backend().delete_run(id_of(1)).error().code, Errc::run_not_found);
  EXPECT_EQ(append(text_batch(1, "x")).status, AppendStatus::fenced);
  EXPECT_TRUE(backend().outbox(10).value().empty());
  EXPECT_EQ(append(text_batch(2, "x")).status, AppendStatus::committed);
}

}  // namespace
}  // namespace millrace::store
