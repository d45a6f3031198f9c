// Pages of runs that stream at the same time, which come into the journals of their runs later.

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/recent_store.hpp"

namespace millrace::store {
namespace {

TEST_F(SqliteRecent, AreReadAsThoseInTheJournals) {
  auto backend = opened();
  accept(*backend, 5);
  stream_all(*backend, 3);
  EXPECT_EQ(rows_of("journal"), 5);
  EXPECT_GT(rows_of("recent"), 0);
  expect_texts(*backend);
  expect_texts(*opened(true));
}

TEST_F(SqliteRecent, ComeIntoTheJournalsWhereTheyAreOld) {
  auto backend = opened();
  accept(*backend, 40);
  for (int commit = 0; commit < 200; ++commit) {
    ASSERT_NO_FATAL_FAILURE(stream_all(*backend, 1));
    // One row for each lane of the commits that are kept.
    ASSERT_LT(rows_of("recent"), 4 * recent_commits_ * sqlite::recent_lanes);
  }
  EXPECT_GT(rows_of("journal"), 40 * 100);
  expect_texts(*backend);
}

TEST_F(SqliteRecent, ComeIntoTheJournalBeforeAnythingElseOfTheRun) {
  auto backend = opened();
  accept(*backend, 3);
  stream_all(*backend, 2);
  AppendBatch batch = text_batch(2, "then");
  batch.changes.push_back({.run = id_of(2), .state = journal::RunState::waiting});
  append(*backend, batch);
  expected_[2] += "|then";
  EXPECT_EQ(rows_of("journal"), 3 + 3);
  expect_texts(*backend);
  // A text of one run alone.
  append(*backend, text_batch(1, "alone"));
  expected_[1] += "|alone";
  expect_texts(*backend);
}

TEST_F(SqliteRecent, AreInTheJournalsOfAClosedStore) {
  auto backend = opened();
  accept(*backend, 3);
  stream_all(*backend, 2);
  backend.reset();
  EXPECT_EQ(rows_of("recent"), 0);
  expect_texts(*opened());
}

TEST_F(SqliteRecent, AreThereBehindAKill) {
  auto backend = opened();
  accept(*backend, 3);
  stream_all(*backend, 30);
  auto next = opened_copy(copy_of_files("copy.db"));
  expect_texts(*next);
  const std::string name = "support";
  EXPECT_EQ(next->claim({&name, 1}, "next", 10).value().size(), 3U);
  epoch_ = 2;
  for (auto& [run, texts] : expected_) texts += "|#";
  stream_all(*next, 2);
  expect_texts(*next);
}

TEST_F(SqliteRecent, AreThereBehindATransactionThatIsUndone) {
  auto backend = opened();
  accept(*backend, 3);
  stream_all(*backend, 2);
  // The second run has been accepted before: its batch is undone.
  std::vector<AppendBatch> batches = {text_batch(1, "one"), accepting(new_run(2))};
  backend->append(batches);
  expected_[1] += "|one";
  expect_texts(*backend);
  // Its rows are refused after its page was written.
  AppendBatch broken = text_batch(3, "lost");
  broken.changes.push_back({.run = id_of(99)});
  batches = {text_batch(1, "two"), text_batch(2, "three"), broken};
  const auto outcomes = backend->append(batches);
  EXPECT_EQ(outcomes[0].status, AppendStatus::committed);
  EXPECT_EQ(outcomes[2].status, AppendStatus::failed);
  expected_[1] += "|two";
  expected_[2] += "|three";
  expect_texts(*backend);
  stream_all(*backend, 30);
  expect_texts(*backend);
}

TEST_F(SqliteRecent, AreExportedAndDeleted) {
  auto backend = opened();
  accept(*backend, 3);
  const std::string planted = "the planted secret";
  const std::vector<AppendBatch> batches = {text_batch(1, planted), text_batch(2, "other")};
  backend->append(batches);
  expected_[2] += "|other";
  std::size_t pages = 0;
  ASSERT_TRUE(backend
                  ->dump([&](const AnyRow& row) -> Result<void> {
                    pages += std::holds_alternative<JournalRow>(row) ? 1 : 0;
                    return {};
                  })
                  .ok());
  EXPECT_EQ(pages, 5U);
  EXPECT_TRUE(is_anywhere(planted));
  ASSERT_TRUE(backend->delete_run(id_of(1)).ok());
  expected_.erase(1);
  EXPECT_FALSE(is_anywhere(planted));
  expect_texts(*backend);
  // Deleting a run that has nothing there leaves the others' pages where they are.
  append(*backend, accepting(new_run(4)));
  stream_all(*backend, 1);
  const std::int64_t rows = rows_of("recent");
  EXPECT_GT(rows, 0);
  ASSERT_TRUE(backend->delete_run(id_of(4)).ok());
  EXPECT_EQ(rows_of("recent"), rows);
}

TEST_F(SqliteRecent, AreGoneWithTheLastOneThatTheyAreNeededFor) {
  auto backend = opened();
  accept(*backend, 2);
  stream_all(*backend, 2);
  for (const std::uint64_t run : {1U, 2U}) {
    AppendBatch end = text_batch(run, "end");
    end.changes.push_back({.run = id_of(run), .state = journal::RunState::waiting});
    append(*backend, end);
    expected_[run] += "|end";
  }
  backend.reset();
  EXPECT_EQ(rows_of("recent"), 0);
  expect_texts(*opened());
}

// Else each of those blocks is written when it is freed, and once more when it is used again.
TEST_F(SqliteRecent, TakeTheBlocksOfThoseThatGo) {
  constexpr std::uint64_t runs = 40;
  constexpr std::size_t text_bytes = 800;
  auto backend = opened();
  accept(*backend, runs);
  const auto commit = [&](std::uint64_t streaming) {
    std::vector<AppendBatch> batches;
    for (std::uint64_t run = 1; run <= streaming; ++run) {
      batches.push_back(text_batch(run, std::string(text_bytes, 'x')));
    }
    for (const auto& outcome : backend->append(batches)) {
      ASSERT_EQ(outcome.status, AppendStatus::committed);
    }
  };
  // One run more with each commit, so that their turns are spread.
  for (std::uint64_t streaming = 2; streaming < runs + 60; ++streaming) {
    ASSERT_NO_FATAL_FAILURE(commit(std::min(streaming, runs)));
  }
  const std::string log = folder_.file() + "-wal";
  const auto before = std::filesystem::file_size(log);
  constexpr std::size_t measured = 50;
  for (std::size_t one = 0; one < measured; ++one) ASSERT_NO_FATAL_FAILURE(commit(runs));
  const auto bytes = std::filesystem::file_size(log) - before;
  const double times = static_cast<double>(bytes) / (measured * runs * text_bytes);
  RecordProperty("times", std::to_string(times));
  EXPECT_LT(times, 4.1);
}

// A reader parses each row once: what it knows is that of the file, whoever writes it.
TEST_F(SqliteRecent, AreReadAsTheyAreByAReaderThatStays) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto backend = opened();
  accept(*backend, 12);
  const auto reader = opened(true);
  for (int step = 0; step < 300; ++step) {
    std::vector<std::uint64_t> runs;
    for (std::uint64_t run = 1; run <= 12; ++run) {
      if (random() % 2 == 0) runs.push_back(run);
    }
    if (!runs.empty()) {
      ASSERT_NO_FATAL_FAILURE(stream(*backend, runs));
    }
    if (random() % 20 == 0) {
      // Its rows are refused: all of the next commit finds the pages again.
      AppendBatch broken = text_batch(1, "lost", epoch_);
      broken.changes.push_back({.run = id_of(99)});
      append(*backend, broken);
    }
    if (random() % 30 == 0) {
      backend.reset();
      backend = opened();
      const std::string name = "support";
      ASSERT_EQ(backend->claim({&name, 1}, "next", 100).value().size(), 12U);
      ++epoch_;
      for (auto& [run, texts] : expected_) texts += "|#";
    }
    if (random() % 3 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_read(*reader));
    }
  }
  ASSERT_NO_FATAL_FAILURE(expect_texts(*reader));
}

// Whatever is committed beside whatever, each run has its texts.
TEST_F(SqliteRecent, AreWholeInEveryOrder) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto backend = opened();
  accept(*backend, 20);
  for (int step = 0; step < 400; ++step) {
    std::vector<std::uint64_t> runs;
    for (std::uint64_t run = 1; run <= 20; ++run) {
      if (random() % 3 == 0) runs.push_back(run);
    }
    std::shuffle(runs.begin(), runs.end(), random);
    // Also twice in a commit.
    if (!runs.empty()) runs.push_back(runs[0]);
    ASSERT_NO_FATAL_FAILURE(stream(*backend, runs));
    const std::uint64_t run = 1 + random() % 20;
    if (random() % 10 == 0) {
      AppendBatch batch = text_batch(run, "step", epoch_);
      batch.changes.push_back({.run = id_of(run), .step = step});
      ASSERT_EQ(append(*backend, batch).status, AppendStatus::committed);
      expected_[run] += "|step";
    }
    if (random() % 40 == 0) {
      const auto copy = opened_copy(copy_of_files("copy-" + std::to_string(step) + ".db"));
      ASSERT_NO_FATAL_FAILURE(expect_texts(*copy));
    }
    if (random() % 40 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_texts(*opened(true)));
    }
  }
  expect_texts(*backend);
}

}  // namespace
}  // namespace millrace::store
