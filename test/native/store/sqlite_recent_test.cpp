// Pages of runs that stream at the same time, which come into the journals of their runs later.

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "store/sqlite/recent_pages.hpp"
#include "store/sqlite_store.hpp"

namespace millrace::store {
namespace {

class SqliteRecent : public SqliteStore {
 protected:
  SqliteRecent() {
    crowd_ = 2;
    recent_commits_ = 24;
  }

  void accept(StorageBackend& backend, std::uint64_t runs) {
    for (std::uint64_t run = 1; run <= runs; ++run) {
      ASSERT_EQ(append(backend, accepting(new_run(run))).status, AppendStatus::committed);
      expected_[run] = "#";
    }
  }
  // A commit with a text of each of these runs.
  void stream(StorageBackend& backend, const std::vector<std::uint64_t>& runs) {
    std::vector<AppendBatch> batches;
    for (const std::uint64_t run : runs) {
      const std::string text = std::to_string(++texts_);
      batches.push_back(text_batch(run, text, epoch_));
      expected_[run] += "|" + text;
    }
    for (const AppendOutcome& outcome : backend.append(batches)) {
      ASSERT_EQ(outcome.status, AppendStatus::committed);
      ASSERT_NE(outcome.last, 0U);
    }
  }
  void stream_all(StorageBackend& backend, int commits) {
    std::vector<std::uint64_t> runs;
    for (const auto& [run, texts] : expected_) runs.push_back(run);
    for (int commit = 0; commit < commits; ++commit) stream(backend, runs);
  }
  void expect_texts(StorageBackend& backend) {
    for (const auto& [run, texts] : expected_) {
      ASSERT_EQ(texts_of(backend, run), texts);
      const auto last = static_cast<std::uint64_t>(std::count(texts.begin(), texts.end(), '|')) + 1;
      const RunId id = id_of(run);
      ASSERT_EQ(backend.run(id).value()->last, last);
      ASSERT_EQ(backend.watch({&id, 1}).value().at(0).last, last);
      ASSERT_EQ(texts_of(backend, run, last - 1), texts.substr(texts.rfind('|') + 1));
    }
    const auto problems = backend.check().value();
    ASSERT_TRUE(problems.empty()) << problems[0].what;
  }
  std::int64_t rows_of(const char* table) {
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(folder_.file().c_str(), &handle), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    const std::string sql = std::string("SELECT count(*) FROM ") + table;
    EXPECT_EQ(sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::int64_t rows = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return rows;
  }
  // What a process that is killed now leaves behind.
  std::string copy_of_files(const std::string& name) {
    const std::string copy = folder_.file(name);
    for (const char* part : {"", "-wal"}) {
      std::filesystem::copy_file(folder_.file() + part, copy + part);
    }
    return copy;
  }
  std::unique_ptr<StorageBackend> opened_copy(const std::string& path) {
    SqliteOptions options;
    options.path = path;
    options.crowd = crowd_;
    options.recent_commits = recent_commits_;
    auto backend = open_sqlite_backend(options);
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    return backend ? std::move(backend).value() : nullptr;
  }

  std::map<std::uint64_t, std::string> expected_;
  int texts_ = 0;
  std::int64_t epoch_ = 1;
};

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

TEST_F(SqliteRecent, ThatAreDamagedAreMissed) {
  auto backend = opened();
  accept(*backend, 2 * sqlite::recent_lanes);
  stream_all(*backend, 2);
  const std::string copy = copy_of_files("copy.db");
  {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(copy.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle,
                           "UPDATE recent SET pages=x'00' || substr(pages, 2) WHERE n="
                           "(SELECT min(n) FROM recent WHERE n%4=1)",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(handle);
  }
  {
    SqliteOptions options;
    options.path = copy;
    options.read_only = true;
    const auto reader = open_sqlite_backend(options).value();
    EXPECT_EQ(reader->read(id_of(1), 0, 1000).error().code, Errc::store_damaged);
    EXPECT_EQ(texts_of(*reader, 2), expected_[2]);
    EXPECT_FALSE(reader->check().value().empty());
  }
  const auto next = opened_copy(copy);
  // The runs of its lane may all lack a page.
  for (const std::uint64_t run : {std::uint64_t{1}, std::uint64_t{1 + sqlite::recent_lanes}}) {
    EXPECT_EQ(next->read(id_of(run), 0, 1000).error().code, Errc::store_damaged);
    expected_.erase(run);
  }
  for (const auto& [run, texts] : expected_) EXPECT_EQ(texts_of(*next, run), texts);
  EXPECT_GE(next->check().value().size(), 2U);
}

TEST_F(SqliteRecent, ThatAreDamagedLeaveOtherRunsAlone) {
  auto backend = opened();
  accept(*backend, 2);
  stream_all(*backend, 2);
  AppendBatch end = text_batch(1, "end");
  end.changes.push_back({.run = id_of(1), .state = journal::RunState::waiting});
  append(*backend, end);
  expected_[1] += "|end";
  backend.reset();
  run_sql("INSERT INTO recent VALUES(400001, 0, x'01')");
  const auto reader = opened(true);
  // One that waits has nothing there.
  EXPECT_EQ(texts_of(*reader, 1), expected_[1]);
  EXPECT_EQ(texts_of(*reader, 2), expected_[2]);
  const auto problems = reader->check().value();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].what.find("400001"), std::string::npos);
}

// What comes behind a gap is kept, and the gap is found.
TEST_F(SqliteRecent, BehindAGapAreNotForgotten) {
  auto backend = opened();
  accept(*backend, 2);
  append(*backend, text_batch(1, "alone"));
  stream_all(*backend, 2);
  const std::string copy = copy_of_files("copy.db");
  {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(copy.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, "DELETE FROM journal WHERE run=1 AND last=2", nullptr, nullptr,
                           nullptr),
              SQLITE_OK);
    sqlite3_close(handle);
  }
  const auto next = opened_copy(copy);
  const auto problems = next->check().value();
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(next->run(id_of(1)).value()->last, 4U);
  EXPECT_EQ(texts_of(*next, 2), expected_[2]);
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
