// Recent pages in a file that was damaged, and on a disk without room.

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "store/fault_vfs.hpp"
#include "store/recent_store.hpp"

namespace millrace::store {
namespace {

constexpr std::uint64_t lanes = sqlite::recent_lanes;

class SqliteRecentDamage : public SqliteRecent {
 protected:
  // Two commits of two runs a lane, in a file that a process left which was killed, and was
  // changed.
  std::string damaged_copy(const std::string& sql) {
    auto backend = opened();
    accept(*backend, 2 * lanes);
    stream_all(*backend, 2);
    const std::string copy = copy_of_files("copy.db");
    change(copy, sql);
    return copy;
  }
  static void change(const std::string& path, const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  // The others are whole.
  void expect_damaged(StorageBackend& backend, const std::set<std::uint64_t>& damaged) {
    for (const auto& [run, texts] : expected_) {
      EXPECT_EQ(texts_of(backend, run), damaged.contains(run) ? "store_damaged" : texts) << run;
    }
  }
};

// Of a row in lane 1: the first one, or the last.
#define MILLRACE_ROW(which) " WHERE n=(SELECT " which "(n) FROM recent WHERE n%4=1)"

TEST_F(SqliteRecentDamage, IsFoundInRunsThatHaveMoreBehindIt) {
  const std::string copy =
      damaged_copy("UPDATE recent SET pages=zeroblob(length(pages))" MILLRACE_ROW("min"));
  {
    const auto reader = opened_copy(copy, true);
    EXPECT_EQ(reader->read(id_of(1), 0, 1000).error().code, Errc::store_damaged);
    EXPECT_EQ(texts_of(*reader, 2), expected_[2]);
    EXPECT_FALSE(reader->check().value().empty());
  }
  const auto next = opened_copy(copy);
  // A page of each run of its lane is missing.
  expect_damaged(*next, {1, 1 + lanes});
  EXPECT_GE(next->check().value().size(), 2U);
}

TEST_F(SqliteRecentDamage, IsAssumedInRunsThatHaveNothingBehindIt) {
  const auto next = opened_copy(
      damaged_copy("UPDATE recent SET pages=zeroblob(length(pages))" MILLRACE_ROW("max")));
  expect_damaged(*next, {1, 1 + lanes});
  EXPECT_GE(next->check().value().size(), 2U);
}

TEST_F(SqliteRecentDamage, OfAPageHarmsItsRunOnly) {
  // The last byte of a row is one of its last page.
  const auto next = opened_copy(damaged_copy(
      "UPDATE recent SET pages=substr(pages, 1, length(pages)-1) || x'07'" MILLRACE_ROW("max")));
  expect_damaged(*next, {1 + lanes});
  const auto problems = next->check().value();
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].run, id_of(1 + lanes));
}

TEST_F(SqliteRecentDamage, OfWhatAPageRepeatsHarmsNone) {
  // The number of the run, and the checksum of another row.
  const auto next =
      opened_copy(damaged_copy("UPDATE recent SET pages=x'00' || substr(pages, 2)" MILLRACE_ROW(
          "max") ";"
                 "UPDATE recent SET crc=crc+1" MILLRACE_ROW("min")));
  expect_damaged(*next, {});
  EXPECT_TRUE(next->check().value().empty());
}

TEST_F(SqliteRecentDamage, BetweenPagesLeavesThoseBehindItWhole) {
  auto backend = opened();
  accept(*backend, 1 + 3 * lanes);
  stream_all(*backend, 1);
  const std::string copy = copy_of_files("copy.db");
  // The front of the row: the first page, and how the second begins.
  change(copy,
         "UPDATE recent SET pages=zeroblob(length(pages)/4+4) ||"
         " substr(pages, length(pages)/4+5)" MILLRACE_ROW("max"));
  const auto next = opened_copy(copy);
  expect_damaged(*next, {1, 1 + lanes});
}

TEST_F(SqliteRecentDamage, LeavesOtherRunsAlone) {
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
TEST_F(SqliteRecentDamage, OfAJournalKeepsWhatIsBehindIt) {
  auto backend = opened();
  accept(*backend, 2);
  append(*backend, text_batch(1, "alone"));
  stream_all(*backend, 2);
  const std::string copy = copy_of_files("copy.db");
  change(copy, "DELETE FROM journal WHERE run=1 AND last=2");
  const auto next = opened_copy(copy);
  EXPECT_FALSE(next->check().value().empty());
  EXPECT_EQ(next->run(id_of(1)).value()->last, 4U);
  expect_damaged(*next, {1});
}

// Whatever block of the table is garbage: the store opens, what it has of other blocks is there,
// and what may be missing is found.
TEST_F(SqliteRecentDamage, OfABlockKeepsTheStoreFromNothingElse) {
  constexpr std::size_t block = 4096;
  const std::string planted = "planted in a recent page";
  auto backend = opened();
  accept(*backend, 12);
  for (int commit = 0; commit < 20; ++commit) {
    std::vector<AppendBatch> batches;
    for (auto& [run, texts] : expected_) {
      const std::string text = planted + std::to_string(++texts_) + std::string(600, '.');
      batches.push_back(text_batch(run, text));
      texts += "|" + text;
    }
    backend->append(batches);
  }
  append(*backend, accepting(new_run(100, "owner", "waits")));
  AppendBatch wait = text_batch(100, "waits");
  wait.changes.push_back({.run = id_of(100), .state = journal::RunState::waiting});
  append(*backend, wait);
  const std::string whole = copy_of_files("whole.db");
  change(whole, "PRAGMA wal_checkpoint(TRUNCATE)");
  std::ostringstream all;
  all << std::ifstream(whole, std::ios::binary).rdbuf();
  const std::string bytes = all.str();
  std::set<std::size_t> blocks;
  for (auto at = bytes.find(planted); at != std::string::npos; at = bytes.find(planted, at + 1)) {
    blocks.insert(at / block);
  }
  ASSERT_GT(blocks.size(), 10U);
  // That of the tree's root, from the file's own list.
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(whole.c_str(), &handle), SQLITE_OK);
  const auto take_root = [](void* into, int, char** values, char**) {
    static_cast<std::set<std::size_t>*>(into)->insert(std::stoul(values[0]) - 1);
    return 0;
  };
  sqlite3_exec(handle, "SELECT rootpage FROM sqlite_schema WHERE name='recent'", take_root, &blocks,
               nullptr);
  sqlite3_close(handle);
  std::size_t damaged = 0;
  for (const std::size_t at : blocks) {
    SCOPED_TRACE("block " + std::to_string(at + 1));
    const std::string copy = folder_.file("copy.db");
    std::string changed = bytes;
    changed.replace(at * block, block, std::string(block, '\xA5'));
    std::ofstream(copy, std::ios::binary | std::ios::trunc) << changed;
    {
      const auto reader = opened_copy(copy, true);
      EXPECT_EQ(reader->runs({}).value().runs.size(), 13U);
      EXPECT_EQ(texts_of(*reader, 100), "#|waits");
      EXPECT_FALSE(reader->check().value().empty());
    }
    auto next = opened_copy(copy);
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(texts_of(*next, 100), "#|waits");
    std::size_t lost = 0;
    for (const auto& [run, texts] : expected_) {
      const std::string found = texts_of(*next, run);
      lost += found == "store_damaged" ? 1 : 0;
      EXPECT_TRUE(found == texts || found == "store_damaged") << run;
    }
    EXPECT_FALSE(next->check().value().empty());
    EXPECT_GT(lost, 0U);
    damaged += lost;
    // It goes on.
    append(*next, accepting(new_run(200)));
    append(*next, accepting(new_run(201)));
    const std::vector<AppendBatch> batches = {text_batch(200, "one"), text_batch(201, "two")};
    for (const AppendOutcome& outcome : next->append(batches)) {
      EXPECT_EQ(outcome.status, AppendStatus::committed);
    }
    next.reset();
    next = opened_copy(copy);
    EXPECT_EQ(texts_of(*next, 200), "#|one");
    EXPECT_FALSE(next->check().value().empty());
    next.reset();
    for (const char* end : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(copy + end);
  }
  // Most blocks are of one row.
  EXPECT_LT(damaged, blocks.size() * expected_.size() / 2);
}

// --- a disk without room

class SqliteRecentRoom : public SqliteRecent {
 protected:
  std::unique_ptr<StorageBackend> opened_on(FaultVfs& vfs) {
    SqliteOptions options;
    options.path = folder_.file();
    options.crowd = crowd_;
    options.recent_commits = recent_commits_;
    options.vfs = vfs.name();
    auto backend = open_sqlite_backend(options);
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    return backend ? std::move(backend).value() : nullptr;
  }
  // Gives the disk more room until the commit is there. Gives how much that was.
  std::size_t commit_with_room(FaultVfs& vfs, StorageBackend& backend,
                               const std::vector<AppendBatch>& batches) {
    constexpr std::size_t little = 4096;
    const std::size_t before = vfs.bytes();
    for (std::size_t room = before; room < before + 10'000 * little; room += little) {
      vfs.set_room(room);
      const auto outcomes = backend.append(batches);
      if (outcomes[0].status == AppendStatus::committed) return room - before;
      EXPECT_EQ(outcomes[0].status, AppendStatus::full);
    }
    return SIZE_MAX;
  }
};

TEST_F(SqliteRecentRoom, IsNotNeededForAllPagesBehindAFailure) {
  FaultVfs vfs;
  recent_commits_ = 256;
  auto backend = opened_on(vfs);
  accept(*backend, 60);
  ASSERT_TRUE(backend->tidy().ok());
  stream_all(*backend, 100);
  for (int commit = 0; commit < 20; ++commit) {
    std::vector<AppendBatch> batches;
    for (auto& [run, texts] : expected_) {
      const std::string text = std::to_string(++texts_);
      batches.push_back(text_batch(run, text));
      texts += "|" + text;
    }
    // What a commit of 60 short pages takes: its four rows, and what of them goes to the journals.
    ASSERT_LT(commit_with_room(vfs, *backend, batches), std::size_t{100'000});
  }
  // One whose pages all go to its journal.
  AppendBatch step = text_batch(1, "step");
  step.changes.push_back({.run = id_of(1), .step = 1});
  ASSERT_LT(commit_with_room(vfs, *backend, {step}), std::size_t{400'000});
  expected_[1] += "|step";
  expect_texts(*backend);
  vfs.set_room(SIZE_MAX);
  stream_all(*backend, 300);
  expect_texts(*backend);
  backend.reset();
  expect_texts(*opened_on(vfs));
}

TEST_F(SqliteRecentRoom, IsNotNeededToOpenAStoreBehindAKill) {
  FaultVfs vfs;
  recent_commits_ = 256;
  auto backend = opened_on(vfs);
  accept(*backend, 60);
  for (int commit = 0; commit < 200; ++commit) {
    std::vector<AppendBatch> batches;
    for (auto& [run, texts] : expected_) {
      const std::string text = std::to_string(++texts_) + std::string(300, '.');
      batches.push_back(text_batch(run, text));
      texts += "|" + text;
    }
    backend->append(batches);
  }
  // The process is killed: what it committed is there.
  vfs.cut_at(vfs.operations() + 1);
  backend.reset();
  vfs.restart(1);
  // For the rows of the runs, which have no owner any more; the pages have seven times as much.
  vfs.set_room(vfs.bytes() + 600'000);
  backend = opened_on(vfs);
  ASSERT_NE(backend, nullptr);
  expect_texts(*backend);
  vfs.set_room(SIZE_MAX);
  const std::string name = "support";
  EXPECT_EQ(backend->claim({&name, 1}, "next", 100).value().size(), 60U);
  epoch_ = 2;
  for (auto& [run, texts] : expected_) texts += "|#";
  stream_all(*backend, 2);
  expect_texts(*backend);
}

}  // namespace
}  // namespace millrace::store
