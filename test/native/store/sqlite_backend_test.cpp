// The store in a file: what it refuses, what it keeps, what it forgets.

#include "store/sqlite/sqlite_backend.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "store/conformance.hpp"
#include "store/sqlite/database.hpp"
#include "store/store_folder.hpp"

namespace millrace::store {
namespace {

struct FileRig final : StoreRig {
  StoreFolder folder;
  ~FileRig() override { backend.reset(); }
};

template <Durability durability>
std::unique_ptr<StoreRig> file_rig(Clock clock) {
  auto rig = std::make_unique<FileRig>();
  SqliteOptions options;
  options.path = rig->folder.file();
  options.durability = durability;
  options.clock = std::move(clock);
  auto backend = open_sqlite_backend(options);
  EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
  if (backend) rig->backend = std::move(backend).value();
  return rig;
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StorageConformance,
                         testing::Values(file_rig<Durability::full>, file_rig<Durability::balanced>,
                                         file_rig<Durability::memory>));

class SqliteStore : public testing::Test {
 protected:
  Result<std::unique_ptr<StorageBackend>> open(bool read_only = false) {
    SqliteOptions options;
    options.path = folder_.file();
    options.read_only = read_only;
    options.durability = durability_;
    options.open_timeout = std::chrono::milliseconds(60);
    options.clock = [this] { return now_; };
    return open_sqlite_backend(options);
  }
  std::unique_ptr<StorageBackend> opened(bool read_only = false) {
    auto backend = open(read_only);
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    return backend ? std::move(backend).value() : nullptr;
  }
  Errc error_of_opening() {
    const auto backend = open();
    return backend ? Errc::internal : backend.error().code;
  }
  void write_file(const std::string& text) {
    std::ofstream(folder_.file(), std::ios::binary | std::ios::trunc) << text;
  }
  void run_sql(const char* sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file().c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  static AppendOutcome append(StorageBackend& backend, const AppendBatch& batch) {
    return backend.append({&batch, 1}).front();
  }
  // Whether any file of the store holds the text.
  bool is_anywhere(const std::string& text) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream all;
      all << in.rdbuf();
      if (all.str().find(text) != std::string::npos) return true;
    }
    return false;
  }

  std::int64_t now_ = 1'000'000;
  Durability durability_ = Durability::full;
  StoreFolder folder_;
};

TEST_F(SqliteStore, KeepsEverythingFromOneOpeningToTheNext) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, text_batch(1, "before"));
  backend.reset();
  backend = opened();
  EXPECT_EQ(texts_of(*backend, 1), "#|before");
  EXPECT_EQ(append(*backend, text_batch(1, "x")).status, AppendStatus::fenced);
  const std::string name = "support";
  const auto claims = backend->claim({&name, 1}, "next", 10);
  ASSERT_EQ(claims.value().size(), 1U);
  EXPECT_EQ(claims.value()[0].run.recoveries, 1);
  EXPECT_EQ(append(*backend, text_batch(1, "after", 2)).status, AppendStatus::committed);
  EXPECT_EQ(texts_of(*backend, 1), "#|before|#|after");
}

TEST_F(SqliteStore, BelongsToOneProcess) {
  const auto first = opened();
  const auto second = open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::store_in_use);  // store_in_use
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
  EXPECT_NE(second.error().message.find(folder_.file()), std::string::npos);
}

TEST_F(SqliteStore, IsReadBesideItsOwner) {
  auto owner = opened();
  append(*owner, accepting(new_run(1)));
  auto reader = opened(true);
  EXPECT_EQ(texts_of(*reader, 1), "#");
  append(*owner, text_batch(1, "news"));
  EXPECT_EQ(texts_of(*reader, 1, 1), "news");
  const auto outcome = append(*reader, text_batch(1, "x"));
  EXPECT_EQ(outcome.status, AppendStatus::failed);
  EXPECT_EQ(outcome.error->code, Errc::invalid_state);
  EXPECT_FALSE(reader->sweep({}).ok());
  EXPECT_FALSE(reader->delete_run(id_of(1)).ok());
}

TEST_F(SqliteStore, WaitsForAnotherProgramThatWrites) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr);
  });
  EXPECT_EQ(append(*backend, text_batch(1, "x")).status, AppendStatus::committed);
  ends.join();
  sqlite3_close(other);
}

TEST_F(SqliteStore, LeavesForeignFilesAlone) {
  write_file(
      "This is a text, and longer than the header of a database is, by a good bit.........."
      "....................................");
  EXPECT_EQ(error_of_opening(), Errc::store_foreign);  // store_foreign
  std::filesystem::remove(folder_.file());
  run_sql("CREATE TABLE others(a)");
  EXPECT_EQ(error_of_opening(), Errc::store_foreign);
  run_sql("SELECT * FROM others");
  std::filesystem::remove(folder_.file());
  run_sql("PRAGMA application_id=77; PRAGMA user_version=1");
  EXPECT_EQ(error_of_opening(), Errc::store_foreign);
}

TEST_F(SqliteStore, RefusesFilesOfNewerReleasesUnlessTheyAllowIt) {
  opened().reset();
  run_sql("PRAGMA user_version=9; UPDATE meta SET v=9 WHERE k='min_reader'");
  EXPECT_EQ(error_of_opening(), Errc::store_newer);  // store_newer
  run_sql("UPDATE meta SET v=1 WHERE k='min_reader'");
  EXPECT_TRUE(open().ok());
}

TEST_F(SqliteStore, RefusesPlacesWhereItWouldNotBeSafe) {
  opened().reset();
  const std::string file = folder_.file();
  std::filesystem::create_hard_link(file, folder_.file("second-name.db"));
  EXPECT_EQ(error_of_opening(), Errc::store_unsupported);  // store_unsupported
  std::filesystem::rename(file, folder_.file("moved.db"));
  std::filesystem::remove(folder_.file("second-name.db"));
  std::filesystem::create_symlink(folder_.file("moved.db"), file);
  EXPECT_EQ(error_of_opening(), Errc::store_unsupported);
}

TEST_F(SqliteStore, NeedsAFolder) {
  SqliteOptions options;
  options.path = folder_.file("none/store.db");
  const auto backend = open_sqlite_backend(options);
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.error().code, Errc::store_failed);  // store_failed
}

TEST_F(SqliteStore, IsForItsUserAlone) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  for (const char* name : {"store.db", "store.db-wal", "store.db-shm", "store.db.lock"}) {
    struct stat found {};
    ASSERT_EQ(::stat(folder_.file(name).c_str(), &found), 0) << name;
    EXPECT_EQ(found.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(SqliteStore, NoticesThatItsFileWasReplaced) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  std::filesystem::rename(folder_.file(), folder_.file("away.db"));
  const auto tidied = backend->tidy();
  ASSERT_FALSE(tidied.ok());
  EXPECT_EQ(tidied.error().code, Errc::store_moved);  // store_moved
}

TEST_F(SqliteStore, FindsAFlippedByteAndLosesThatRunOnly) {
  auto backend = opened();
  const std::string planted(300, 'p');
  append(*backend, accepting(new_run(1)));
  append(*backend, accepting(new_run(2)));
  append(*backend, text_batch(1, planted));
  append(*backend, text_batch(2, "whole"));
  backend.reset();
  std::fstream file(folder_.file(), std::ios::binary | std::ios::in | std::ios::out);
  std::ostringstream all;
  all << file.rdbuf();
  const auto at = all.str().find(planted);
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at + 150)).put('q');
  file.close();
  backend = opened();
  EXPECT_EQ(texts_of(*backend, 1), "store_damaged");
  EXPECT_EQ(texts_of(*backend, 2), "#|whole");
  const auto problems = backend->check();
  ASSERT_TRUE(problems.ok());
  ASSERT_EQ(problems.value().size(), 1U);
  EXPECT_EQ(problems.value()[0].run, id_of(1));
}

TEST_F(SqliteStore, FindsALedgerThatDiffersFromTheJournal) {
  auto backend = opened();
  AppendBatch batch = accepting(new_run(1));
  journal::ToolIntent intent;
  intent.call = "c";
  journal::PageWriter page;
  page.add({.body = journal::Fact(intent)});
  batch.page = page.take();
  CallRow call;
  call.run = id_of(1);
  call.call = "c";
  call.name = "pay";
  batch.calls.push_back(call);
  append(*backend, batch);
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  run_sql("UPDATE calls SET state=3");
  backend = opened();
  ASSERT_EQ(backend->check().value().size(), 1U);
  EXPECT_NE(backend->check().value()[0].what.find("'c'"), std::string::npos);
}

TEST_F(SqliteStore, LeavesNothingOfWhatIsDeleted) {
  auto backend = opened();
  const std::string planted = "the planted secret 0123456789";
  append(*backend, accepting(new_run(1, "owner", "t")));
  for (int page = 0; page < 30; ++page) {
    append(*backend, text_batch(1, planted + std::string(3000, 'x')));
    const MessageRow message{"m" + std::to_string(page), page, planted};
    ASSERT_TRUE(backend->put_messages("alice", "t", {&message, 1}).ok());
  }
  ASSERT_TRUE(backend->tidy().ok());
  EXPECT_TRUE(is_anywhere(planted));
  ASSERT_TRUE(backend->delete_thread("alice", "t").value());
  EXPECT_FALSE(is_anywhere(planted));
}

TEST_F(SqliteStore, IsBackedUpWhileItWorks) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, text_batch(1, "saved"));
  const std::string copy = folder_.file("copy.db");
  ASSERT_TRUE(backend->backup(copy).ok());
  EXPECT_EQ(backend->backup(copy).error().code, Errc::invalid_argument);
  append(*backend, text_batch(1, "later"));
  SqliteOptions options;
  options.path = copy;
  auto restored = open_sqlite_backend(options);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(texts_of(*restored.value(), 1), "#|saved");
  EXPECT_TRUE(restored.value()->check().value().empty());
}

TEST_F(SqliteStore, PassesOverNumbersThatMayHaveBeenShown) {
  durability_ = Durability::balanced;
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  for (int page = 0; page < 6000; ++page) append(*backend, text_batch(1, "x"));
  const auto before = backend->run(id_of(1)).value();
  EXPECT_GT(before->reserved, 6001U);
  backend.reset();
  // As after a power cut: the last pages did not reach the disk.
  run_sql("DELETE FROM journal WHERE last>5900");
  backend = opened();
  const std::string name = "support";
  const auto claims = backend->claim({&name, 1}, "next", 1);
  ASSERT_EQ(claims.value().size(), 1U);
  EXPECT_EQ(claims.value()[0].run.last, before->reserved + 1);
  EXPECT_EQ(texts_of(*backend, 1, 5899), "x|-" + std::to_string(before->reserved - 5900) + "|#");
}

TEST_F(SqliteStore, ReservesNumbersBeforeAGroupUsesThem) {
  durability_ = Durability::balanced;
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  const std::vector<AppendBatch> group(1000, text_batch(1, "x"));
  for (int round = 0; round < 6; ++round) {
    const auto outcomes = backend->append(group);
    ASSERT_EQ(outcomes.back().status, AppendStatus::committed);
    const auto row = backend->run(id_of(1)).value();
    EXPECT_GE(row->reserved, row->last);
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file().c_str(), &other), SQLITE_OK);
    sqlite3_stmt* read = nullptr;
    sqlite3_prepare_v2(other, "SELECT reserved FROM runs", -1, &read, nullptr);
    ASSERT_EQ(sqlite3_step(read), SQLITE_ROW);
    EXPECT_GE(static_cast<std::uint64_t>(sqlite3_column_int64(read, 0)), row->last) << round;
    sqlite3_finalize(read);
    sqlite3_close(other);
  }
}

TEST_F(SqliteStore, LeavesNoGapWhereNothingIsLost) {
  durability_ = Durability::balanced;
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, text_batch(1, "x"));
  ASSERT_EQ(backend->release("owner", Release::lost).value(), 1U);
  backend.reset();
  backend = opened();
  const std::string name = "support";
  EXPECT_EQ(backend->claim({&name, 1}, "next", 1).value().at(0).run.last, 3U);
}

TEST(SqliteVersion, IsOneThatLosesNothing) {
  EXPECT_TRUE(sqlite::check_version(sqlite3_libversion_number()).ok());
  EXPECT_FALSE(sqlite::check_version(3'051'002).ok());
  EXPECT_TRUE(sqlite::check_version(3'051'003).ok());
  EXPECT_FALSE(sqlite::check_version(3'052'000).ok());
  EXPECT_STREQ(SQLITE_VERSION, sqlite3_libversion());
}

TEST(RunId, HasOneText) {
  const RunId id = id_of(0x1234);
  EXPECT_EQ(id.text(), "run_34120000000000007f7f7f7f7f7f7f7f");
  EXPECT_EQ(RunId::parse(id.text()), id);
  EXPECT_EQ(RunId::of_uuid("34120000-0000-0000-7f7f-7f7f7f7f7f7f"), id);
  EXPECT_FALSE(RunId::parse("run_3412"));
  EXPECT_FALSE(RunId::parse("run_34120000000000007F7f7f7f7f7f7f7f"));
  EXPECT_FALSE(RunId::parse("run_00000000000000000000000000000000"));
}

}  // namespace
}  // namespace millrace::store
