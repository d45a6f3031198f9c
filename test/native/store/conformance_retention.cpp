// What becomes of the records of runs that ended, and what is deleted.
#include <string>
#include <vector>

#include "store/conformance.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

// Pages of a run as a reader gets them, from each place on.
std::vector<std::vector<StoredPage>> readings(StorageBackend& backend, std::uint64_t number,
                                              std::size_t max_bytes) {
  std::vector<std::vector<StoredPage>> all;
  const std::uint64_t last = backend.run(id_of(number)).value()->last;
  for (std::uint64_t after = 0; after <= last; ++after) {
    auto pages = backend.read(id_of(number), after, max_bytes);
    EXPECT_TRUE(pages.ok()) << after;
    all.push_back(pages ? std::move(pages).value() : std::vector<StoredPage>());
  }
  return all;
}

void stream(StorageBackend& backend, std::uint64_t number, int pages) {
  AppendBatch first = accepting(new_run(number));
  ASSERT_EQ(backend.append({&first, 1}).front().status, AppendStatus::committed);
  for (int page = 0; page < pages; ++page) {
    AppendBatch batch = text_batch(number, "word " + std::to_string(page) + " ");
    batch.page = page_of_text("word " + std::to_string(page), 1000 + 20 * page);
    ASSERT_EQ(backend.append({&batch, 1}).front().status, AppendStatus::committed);
  }
}

TEST_P(StorageConformance, GivesTheSamePagesOfARunInLessRoom) {
  stream(backend(), 1, 60);
  stream(backend(), 2, 3);
  end(1);
  const auto whole = readings(backend(), 1, 1 << 20);
  const auto pieces = readings(backend(), 1, 100);
  now_ += *SweepPolicy().compact_ms - 1;
  EXPECT_EQ(backend().sweep({}).value().compacted, 0U);
  now_ += 1;
  const auto swept = backend().sweep({}).value();
  EXPECT_EQ(swept.compacted, 1U);
  EXPECT_FALSE(swept.has_more);
  EXPECT_EQ(row(1).records, StoredRecords::compact);
  EXPECT_EQ(row(1).last, 62U);
  // A run at work stays as it is, however old.
  EXPECT_EQ(row(2).records, StoredRecords::whole);
  EXPECT_EQ(readings(backend(), 1, 1 << 20), whole);
  EXPECT_EQ(readings(backend(), 1, 100), pieces);
  std::size_t page_rows = 0;
  EXPECT_TRUE(backend()
                  .dump([&](const AnyRow& any) -> Result<void> {
                    const auto* page = std::get_if<JournalRow>(&any);
                    if (page != nullptr && page->run == id_of(1)) ++page_rows;
                    return {};
                  })
                  .ok());
  EXPECT_EQ(page_rows, 1U);
  EXPECT_TRUE(backend().check().value().empty());
  EXPECT_EQ(backend().sweep({}).value().compacted, 0U);
}

// Each sweep does some of a long run; what a process leaves that ends in between is a run as well.
TEST_P(StorageConformance, ComesThroughLongRunsPieceByPiece) {
  AppendBatch first = accepting(new_run(1));
  append(first);
  for (int page = 0; page < 40; ++page) {
    append(text_batch(1, std::to_string(page) + std::string(30'000, 'x')));
  }
  end(1);
  const auto whole = readings(backend(), 1, 1 << 20);
  now_ += *SweepPolicy().compact_ms;
  SweepPolicy policy;
  policy.most_bytes = 400'000;
  int sweeps = 0;
  for (bool has_more = true; has_more && sweeps < 100; ++sweeps) {
    has_more = backend().sweep(policy).value().has_more;
    ASSERT_EQ(readings(backend(), 1, 1 << 20), whole) << sweeps;
    ASSERT_TRUE(backend().check().value().empty()) << sweeps;
  }
  EXPECT_GT(sweeps, 2);
  EXPECT_EQ(row(1).records, StoredRecords::compact);
}

TEST_P(StorageConformance, SweepsNoMoreThanItMayAtOnce) {
  for (std::uint64_t run = 1; run <= 5; ++run) {
    stream(backend(), run, 2);
    end(run);
  }
  now_ += *SweepPolicy().compact_ms;
  SweepPolicy policy;
  policy.most_runs = 2;
  EXPECT_EQ(backend().sweep(policy).value().compacted, 2U);
  EXPECT_TRUE(backend().sweep(policy).value().has_more);
  EXPECT_EQ(backend().sweep(policy).value().compacted, 1U);
  EXPECT_FALSE(backend().sweep(policy).value().has_more);
}

TEST_P(StorageConformance, RemovesTheRecordsOfOldRuns) {
  append(accepting(new_run(1, "owner", "t")));
  append(accepting(new_run(2)));
  AppendBatch batch = text_batch(1, "x");
  batch.messages = {{"m", 0, "{}"}};
  append(batch);
  end(1);
  now_ += *SweepPolicy().events_ms;
  SweepPolicy never;
  never.events_ms = std::nullopt;
  EXPECT_EQ(backend().sweep(never).value().journals, 0U);
  EXPECT_EQ(backend().sweep({}).value().journals, 1U);
  EXPECT_EQ(backend().sweep({}).value().journals, 0U);
  const auto pages = backend().read(id_of(1), 0, 1000);
  ASSERT_FALSE(pages.ok());
  EXPECT_EQ(pages.error().code, Errc::run_not_found);
  EXPECT_NE(pages.error().message.find("removed"), std::string::npos);
  EXPECT_EQ(row(1).last, 3U);
  EXPECT_EQ(row(1).state, RunState::completed);
  EXPECT_EQ(row(1).records, StoredRecords::removed);
  EXPECT_EQ(backend().messages("alice", "t").value().size(), 1U);
  EXPECT_EQ(texts_of(backend(), 2), "#");
  EXPECT_TRUE(backend().check().value().empty());
}

TEST_P(StorageConformance, KnowsWhichRunWroteAMessage) {
  append(accepting(new_run(1, "owner", "t")));
  AppendBatch batch = text_batch(1, "x");
  batch.thread = ThreadUpdate{"", {{"a", "1"}, {"b", "2"}}};
  append(batch);
  const auto run_of = [&](std::size_t at) {
    return backend().messages("alice", "t").value().at(at).run;
  };
  EXPECT_EQ(run_of(0), id_of(1));
  EXPECT_FALSE(backend().thread("alice", "t").value()->is_cut);
  // Changed by somebody else; the other one is the same.
  const std::vector<MessageRow> rows{{"a", 0, "1"}, {"b", 1, "edited"}, {"c", 2, "3"}};
  ASSERT_TRUE(backend().set_messages("alice", "t", rows).ok());
  EXPECT_EQ(run_of(0), id_of(1));
  EXPECT_FALSE(run_of(1));
  EXPECT_FALSE(run_of(2));
  EXPECT_FALSE(backend().thread("alice", "t").value()->is_cut);
  // The run writes it again.
  batch.thread = ThreadUpdate{"", {{"b", "of the run", MessageRule::put}}};
  append(batch);
  EXPECT_EQ(run_of(1), id_of(1));
  const std::vector<MessageRow> fewer{{"a", 0, "1"}};
  ASSERT_TRUE(backend().set_messages("alice", "t", fewer).ok());
  EXPECT_TRUE(backend().thread("alice", "t").value()->is_cut);
  ASSERT_TRUE(backend().put_thread({"alice", "t", "Title", 1, 1, ""}).ok());
  EXPECT_TRUE(backend().thread("alice", "t").value()->is_cut);
}

TEST_P(StorageConformance, KnowsWhereMessagesOfRunsWereRemoved) {
  for (const std::uint64_t run : {1U, 2U}) {
    AppendBatch batch = accepting(new_run(run, "owner", "t" + std::to_string(run)));
    batch.messages = {{"a", 0, "1"}};
    append(batch);
  }
  const MessageRow other{"b", 0, "2"};
  ASSERT_TRUE(backend().put_messages("alice", "t1", {&other, 1}).ok());
  EXPECT_TRUE(backend().thread("alice", "t1").value()->is_cut);
  EXPECT_EQ(backend().clear_messages("alice", "t2").value(), 1U);
  EXPECT_TRUE(backend().thread("alice", "t2").value()->is_cut);
}

TEST_P(StorageConformance, DeletesTheMessagesOfARunWithIt) {
  for (const std::uint64_t run : {1U, 2U}) {
    AppendBatch batch = accepting(new_run(run, "owner", "t"));
    const std::string name = std::to_string(run);
    batch.thread =
        ThreadUpdate{"say \"one\"", {{"m" + name, R"({"content":"say \"one\" )" + name}}};
    if (run == 2) batch.thread->messages[0].json = "{}";
    append(batch);
    end(run);
  }
  EXPECT_EQ(backend().thread("alice", "t").value()->title, "say \"one\"");
  ASSERT_TRUE(backend().delete_run(id_of(2)).ok());
  EXPECT_EQ(backend().thread("alice", "t").value()->title, "say \"one\"");
  ASSERT_EQ(backend().messages("alice", "t").value().size(), 1U);
  ASSERT_TRUE(backend().delete_run(id_of(1)).ok());
  EXPECT_EQ(backend().thread("alice", "t").value()->title, "");
  EXPECT_TRUE(backend().messages("alice", "t").value().empty());
  EXPECT_TRUE(backend().check().value().empty());
}

}  // namespace
}  // namespace millrace::store
