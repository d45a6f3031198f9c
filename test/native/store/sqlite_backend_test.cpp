// The store in a file: what it refuses, what it keeps, what it forgets.

#include "store/sqlite/sqlite_backend.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "store/conformance.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite_store.hpp"
#include "store/store_folder.hpp"

namespace millrace::store {
namespace {

struct FileRig final : StoreRig {
  StoreFolder folder;
  ~FileRig() override { backend.reset(); }
};

template <Durability durability, std::size_t crowd = 64>
std::unique_ptr<StoreRig> file_rig(Clock clock) {
  auto rig = std::make_unique<FileRig>();
  SqliteOptions options;
  options.path = rig->folder.file();
  options.durability = durability;
  options.crowd = crowd;
  options.clock = std::move(clock);
  auto backend = open_sqlite_backend(options);
  EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
  if (backend) rig->backend = std::move(backend).value();
  return rig;
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StorageConformance,
                         testing::Values(file_rig<Durability::full>, file_rig<Durability::balanced>,
                                         file_rig<Durability::memory>));
INSTANTIATE_TEST_SUITE_P(CrowdedSqlite, StorageConformance,
                         testing::Values(file_rig<Durability::full, 1>,
                                         file_rig<Durability::balanced, 1>));

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

TEST_F(SqliteStore, CountsKeysFromOneOpeningToTheNext) {
  const KeySpending one{"key", 1, 1, 1000};
  ASSERT_TRUE(opened()->spend({&one, 1}).ok());
  EXPECT_EQ(opened()->spend({&one, 1}).value().at(0).requests, 2);
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

// Makes a file as the second version had it.
constexpr const char* without_retention =
    "DROP INDEX runs_list; DROP INDEX runs_new; DROP INDEX runs_thread; DROP INDEX runs_owner;"
    "DROP INDEX threads_id; DROP INDEX attachments_thread; DROP INDEX blobs_created;"
    "DROP INDEX outbox_run; DROP INDEX runs_client;"
    "CREATE INDEX runs_list ON runs(principal, created);"
    "DROP TABLE key_uses; DROP TABLE attachment_uses;"
    "DROP TABLE recent; DROP TABLE starts; ALTER TABLE checkpoints DROP COLUMN crc;"
    "CREATE TABLE before(id TEXT PRIMARY KEY, thread INTEGER NOT NULL, type TEXT NOT NULL,"
    " title TEXT NOT NULL, updated INTEGER NOT NULL, content BLOB NOT NULL);"
    "INSERT INTO before SELECT id, thread, type, title, updated, content FROM artifacts;"
    "DROP TABLE artifacts; ALTER TABLE before RENAME TO artifacts;"
    "CREATE INDEX artifacts_thread ON artifacts(thread);"
    "DROP INDEX runs_records; ALTER TABLE runs DROP COLUMN records;"
    "CREATE INDEX runs_ended ON runs(ended) WHERE ended IS NOT NULL AND root IS NULL;"
    "ALTER TABLE journal DROP COLUMN hash; ALTER TABLE messages DROP COLUMN run;"
    "ALTER TABLE threads DROP COLUMN changes;"
    "ALTER TABLE threads DROP COLUMN cut; UPDATE meta SET v=1 WHERE k='min_reader';"
    "PRAGMA user_version=2";

TEST_F(SqliteStore, BringsFilesOfTheSecondVersionUpToDate) {
  for (const std::uint64_t run : {1U, 2U}) {
    auto backend = opened();
    append(*backend, accepting(new_run(run, "owner", "t" + std::to_string(run))));
    AppendBatch batch = text_batch(run, "before");
    batch.messages = {{"m", 0, R"({"attachments":[{"uid":"att"},5]})"}, {"n", 1, "\xff no JSON"}};
    batch.changes.push_back({.run = id_of(run), .state = journal::RunState::waiting});
    append(*backend, batch);
    ASSERT_TRUE(backend->put_artifact({"a", "alice", "t1", "html", "A", 1, "<p>"}).ok());
    const std::string hash = backend->put_blob("png").value();
    ASSERT_TRUE(backend->put_attachment({"att", "alice", "", "a.png", "image/png", hash, 1}).ok());
  }
  // Retention of the release before has removed the records of one.
  run_sql("DELETE FROM journal WHERE run=2; UPDATE runs SET state=5, ended=1 WHERE no=2");
  run_sql(without_retention);
  auto backend = opened();
  EXPECT_EQ(texts_of(*backend, 1), "#|before");
  EXPECT_EQ(backend->run(id_of(1)).value()->records, StoredRecords::whole);
  EXPECT_EQ(backend->run(id_of(2)).value()->records, StoredRecords::removed);
  EXPECT_FALSE(backend->messages("alice", "t1").value().at(0).run);
  EXPECT_EQ(backend->artifact("alice", "a").value()->content, "<p>");
  // Pages without a hash are no damage, and those that follow have one.
  EXPECT_TRUE(backend->check().value().empty());
  ASSERT_TRUE(backend->claim_run(id_of(1), "next").value());
  append(*backend, text_batch(1, "after", 2));
  EXPECT_TRUE(backend->check().value().empty());
  // Both threads refer to it.
  ASSERT_TRUE(backend->delete_thread("alice", "t2").value());
  EXPECT_TRUE(backend->attachment("alice", "att").value());
  backend.reset();
  run_sql("UPDATE journal SET hash=NULL WHERE last=4");
  backend = opened();
  ASSERT_EQ(backend->check().value().size(), 1U);
  EXPECT_NE(backend->check().value()[0].what.find("no hash"), std::string::npos);
}

TEST_F(SqliteStore, BringsFilesOfTheFirstVersionUpToDate) {
  {
    auto backend = opened();
    append(*backend, accepting(new_run(1, "")));
    NewRun child = new_run(2, "");
    child.idem_key = id_of(1).text() + "/run:child#1";
    append(*backend, accepting(child));
  }
  run_sql(without_retention);
  run_sql(
      "DROP INDEX runs_working; DROP INDEX runs_queued; DROP INDEX runs_claim;"
      "ALTER TABLE runs DROP COLUMN lane;"
      "CREATE INDEX runs_claim ON runs(name, run_at) WHERE root IS NULL AND owner IS NULL;"
      "PRAGMA user_version=1");
  EXPECT_EQ(error_of_opening(true), Errc::invalid_state);
  auto backend = opened();
  EXPECT_EQ(backend->run(id_of(1)).value()->run.lane, Lane::normal);
  // A job waits for it.
  EXPECT_EQ(backend->run(id_of(2)).value()->run.lane, Lane::inner);
  const std::string name = "support";
  EXPECT_EQ(backend->claim({&name, 1}, "next", 10).value().size(), 2U);
}

TEST_F(SqliteStore, RemembersWhatBeganAsLongAsRatesCountIt) {
  using std::chrono::milliseconds;
  ClaimRequest request{{"support"}, "next", 100, {}};
  request.rates.longest = milliseconds(1000);
  {
    auto backend = opened();
    append(*backend, accepting(new_run(1, "")));
    EXPECT_EQ(backend->claim({{"support"}, "next", 100, {}}).value().size(), 1U);
    EXPECT_TRUE(backend->starts().value().empty());
    append(*backend, accepting(new_run(2, "")));
    NewRun inner = new_run(3, "");
    inner.lane = Lane::inner;
    append(*backend, accepting(inner));
    EXPECT_EQ(backend->claim(request).value().size(), 2U);
  }
  now_ += 400;
  {
    auto backend = opened();
    const auto begun = backend->starts().value();
    ASSERT_EQ(begun.size(), 1U);
    EXPECT_EQ(begun[0].name, "support");
    EXPECT_EQ(begun[0].principal, "alice");
    EXPECT_EQ(begun[0].age, milliseconds(400));
    now_ += 600;
    append(*backend, accepting(new_run(4, "")));
    // Those that were cut go on, and begin no second time.
    EXPECT_EQ(backend->claim(request).value().size(), 4U);
    EXPECT_EQ(backend->starts().value().size(), 1U);
    EXPECT_EQ(backend->starts().value()[0].age, milliseconds(0));
  }
  // The clock was put back.
  now_ -= 5000;
  EXPECT_EQ(opened()->starts().value()[0].age, milliseconds(0));
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
