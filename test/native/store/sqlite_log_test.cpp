// The write-ahead log that a process left which was killed, with bytes that flipped since.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/recent_store.hpp"

namespace millrace::store {
namespace {

constexpr std::uintmax_t head = 32;
constexpr std::uintmax_t frame = 24 + 4096;

class SqliteLog : public SqliteRecent {
 protected:
  // Two runs, of which one has ended in the file itself, and commits of the other in the log.
  std::string killed_copy(bool counts_keys = false) {
    {
      auto backend = opened();
      accept(*backend, 1);
      AppendBatch end = text_batch(1, "end");
      end.page = page_of(journal::Fact(journal::Terminal{}), 1);
      end.changes.push_back({.run = id_of(1), .state = journal::RunState::completed});
      append(*backend, end);
    }
    auto backend = opened();
    append(*backend, accepting(new_run(2)));
    const std::vector<KeySpending> spent = {{"key", 1, 1, 0}};
    if (counts_keys) {
      EXPECT_TRUE(backend->spend(spent).ok());
    }
    for (int text = 0; text < 8; ++text) append(*backend, text_batch(2, std::to_string(text)));
    return copy_of_files("copy.db");
  }
  static std::uintmax_t frames_of(const std::string& path) {
    return (std::filesystem::file_size(path + "-wal") - head) / frame;
  }
  // The frames that end a commit.
  static std::vector<std::uintmax_t> commits_of(const std::string& path) {
    std::ifstream file(path + "-wal", std::ios::binary);
    std::vector<std::uintmax_t> commits;
    for (std::uintmax_t number = 0; number < frames_of(path); ++number) {
      char pages[4];
      file.seekg(static_cast<std::streamoff>(head + number * frame + 4));
      file.read(pages, sizeof pages);
      if (std::string(pages, sizeof pages) != std::string(sizeof pages, '\0')) {
        commits.push_back(number);
      }
    }
    return commits;
  }
  // The page of a frame did not reach the disk.
  static void lose(const std::string& path, std::uintmax_t number) {
    std::fstream file(path + "-wal", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(head + number * frame + 24));
    file << std::string(4096, '\0');
  }
  // The files as a process leaves them that is killed after `texts` more commits.
  std::string killed_again(const std::string& path, const std::string& name, std::uint64_t run,
                           int texts) {
    const auto next = opened_copy(path);
    append(*next, accepting(new_run(run)));
    for (int text = 0; text < texts; ++text) append(*next, text_batch(run, std::to_string(text)));
    const std::string copy = folder_.file(name);
    for (const char* end : {"", "-wal"}) std::filesystem::copy_file(path + end, copy + end);
    return copy;
  }
  static void flip(const std::string& path, std::uintmax_t at) {
    std::fstream file(path + "-wal", std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at)).put(byte);
  }
  static std::string found_in(StorageBackend& backend) {
    std::string all;
    const auto problems = backend.check().value();
    for (const Problem& problem : problems) all.append(problem.what).append("\n");
    return all;
  }
};

TEST_F(SqliteLog, ThatIsWholeHidesNothing) {
  const std::string copy = killed_copy();
  EXPECT_EQ(found_in(*opened_copy(copy, true)), "");
  const auto next = opened_copy(copy);
  EXPECT_EQ(found_in(*next), "");
  EXPECT_EQ(texts_of(*next, 2), "#|0|1|2|3|4|5|6|7");
  EXPECT_TRUE(lost_.empty());
}

TEST_F(SqliteLog, WithAFlippedByteNamesWhatIsMissing) {
  const std::string whole = killed_copy();
  const std::uintmax_t frames = frames_of(whole);
  ASSERT_GT(frames, 12U);
  // In the page, the number of the page, the salt and the checksum of a frame, and in the header.
  for (const std::uintmax_t at :
       {head + 3 * frame + 2000, head + 3 * frame + 3, head + 3 * frame + 9, head + 3 * frame + 17,
        std::uintmax_t{17}}) {
    SCOPED_TRACE("byte " + std::to_string(at));
    const std::string copy = folder_.file("flipped.db");
    for (const char* end : {"", "-wal"}) {
      std::filesystem::copy_file(whole + end, copy + end,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    flip(copy, at);
    EXPECT_NE(found_in(*opened_copy(copy, true)).find("of the write-ahead log is damaged"),
              std::string::npos);
    lost_.clear();
    auto next = opened_copy(copy);
    ASSERT_NE(next, nullptr);
    ASSERT_EQ(lost_.size(), 1U);
    EXPECT_EQ(lost_[0].code, Errc::store_damaged);
    EXPECT_NE(lost_[0].message.find("has lost commits"), std::string::npos);
    EXPECT_NE(found_in(*next).find("commits are missing"), std::string::npos);
    EXPECT_EQ(texts_of(*next, 1), "#|#");
    // Where a run was at work, what it lacks is not done again.
    const auto run = next->run(id_of(2)).value();
    if (run) {
      EXPECT_EQ(texts_of(*next, 2), "store_damaged");
    }
    // It is named as often as the store is looked at, and no run is marked again.
    ASSERT_EQ(append(*next, accepting(new_run(3))).status, AppendStatus::committed);
    const std::string again = folder_.file("again.db");
    for (const char* end : {"", "-wal"}) {
      std::filesystem::copy_file(copy + end, again + end,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    next = opened_copy(again);
    EXPECT_NE(found_in(*next).find("commits are missing"), std::string::npos);
    EXPECT_EQ(lost_.size(), 1U);
    EXPECT_EQ(texts_of(*next, 3), "#");
    next.reset();
    for (const char* end : {"", "-wal", "-shm", ".lock"}) {
      std::filesystem::remove(copy + end);
      std::filesystem::remove(again + end);
    }
  }
}

// All that is known of the store is in the file itself, but for what came later.
TEST_F(SqliteLog, OfANewStoreWithADamagedHeaderNamesWhatIsMissing) {
  const auto backend = opened();
  append(*backend, accepting(new_run(2)));
  for (int text = 0; text < 4; ++text) append(*backend, text_batch(2, std::to_string(text)));
  const std::string copy = copy_of_files("copy.db");
  flip(copy, 13);
  EXPECT_NE(found_in(*opened_copy(copy, true)).find("of the write-ahead log is damaged"),
            std::string::npos);
  EXPECT_NE(found_in(*opened_copy(copy)).find("commits are missing"), std::string::npos);
}

TEST_F(SqliteLog, ThatHadTheTablesIsNotReplacedByANewStore) {
  const std::string whole = folder_.file("whole.db");
  const std::string copy = folder_.file("copy.db");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(whole.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle,
                         "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; CREATE TABLE meta(k, v);"
                         "CREATE TABLE names(n); CREATE TABLE runs(n);",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  for (const char* end : {"", "-wal"}) std::filesystem::copy_file(whole + end, copy + end);
  sqlite3_close(handle);
  flip(copy, 13);
  SqliteOptions options;
  options.path = copy;
  for (const bool is_reader : {true, false}) {
    options.read_only = is_reader;
    const auto rejected = open_sqlite_backend(options);
    ASSERT_FALSE(rejected.ok());
    EXPECT_EQ(rejected.error().code, Errc::store_damaged);
    EXPECT_NE(rejected.error().message.find("the header of the write-ahead log is damaged"),
              std::string::npos)
        << rejected.error().message;
  }
  EXPECT_GT(frames_of(copy), 3U);
}

// A power cut leaves the same: it is not known whether the last commit had reached the disk.
TEST_F(SqliteLog, WithADamagedLastCommitIsAsAPowerCutLeavesIt) {
  const std::string copy = killed_copy();
  flip(copy, head + (frames_of(copy) - 1) * frame + 2000);
  EXPECT_EQ(found_in(*opened_copy(copy, true)), "");
  const auto next = opened_copy(copy);
  EXPECT_EQ(found_in(*next), "");
  EXPECT_EQ(texts_of(*next, 2), "#|0|1|2|3|4|5|6");
}

// Commits that did not reach the disk may be missing behind a power cut.
TEST_F(SqliteLog, OfCommitsThatNeedNotReachTheDiskIsNoDamage) {
  durability_ = Durability::balanced;
  const std::string copy = killed_copy();
  flip(copy, head + 3 * frame + 2000);
  EXPECT_EQ(found_in(*opened_copy(copy)), "");
}

// The next owner, whose commits all reach the disk, writes over a part of what was passed over.
TEST_F(SqliteLog, ThatWasPassedOverOnceIsNoDamageOfTheNextOwner) {
  durability_ = Durability::balanced;
  const std::string first = killed_copy();
  lose(first, 3);
  const std::string second = killed_again(first, "second.db", 3, 2);
  EXPECT_EQ(found_in(*opened_copy(second, true)), "");
  EXPECT_EQ(found_in(*opened_copy(second)), "");
}

// Each of two power cuts has torn the last commit alone. The second process wrote over a part of
// what the first left.
TEST_F(SqliteLog, TornByTwoPowerCutsIsNoDamage) {
  std::string first;
  std::uintmax_t begin = 0;
  {
    const auto backend = opened();
    append(*backend, accepting(new_run(2)));
    begin = frames_of(folder_.file());
    append(*backend, text_batch(2, std::string(200'000, 'x')));
    first = copy_of_files("copy.db");
  }
  lose(first, begin);
  const std::uintmax_t frames = frames_of(first);
  const std::string second = killed_again(first, "second.db", 3, 3);
  ASSERT_EQ(frames_of(second), frames);
  // Behind what the second process wrote is the end of the torn commit.
  const std::vector<std::uintmax_t> commits = commits_of(second);
  ASSERT_EQ(commits.back(), frames_of(second) - 1);
  const std::uintmax_t last = commits.at(commits.size() - 2);
  ASSERT_GT(last, begin);
  ASSERT_LT(last + 4, frames_of(second));
  for (std::uintmax_t lost = commits.at(commits.size() - 3) + 1; lost <= last; ++lost) {
    SCOPED_TRACE("frame " + std::to_string(lost) + " of " + std::to_string(frames_of(second)));
    const std::string cut = folder_.file("cut-" + std::to_string(lost) + ".db");
    for (const char* end : {"", "-wal"}) std::filesystem::copy_file(second + end, cut + end);
    lose(cut, lost);
    EXPECT_EQ(found_in(*opened_copy(cut, true)), "");
    EXPECT_EQ(found_in(*opened_copy(cut)), "");
  }
}

// What was used of the limits of keys is committed without a sync.
TEST_F(SqliteLog, WithCountsOfKeysIsNoDamage) {
  const std::string copy = killed_copy(true);
  flip(copy, head + (frames_of(copy) - 4) * frame + 2000);
  EXPECT_EQ(found_in(*opened_copy(copy, true)), "");
  EXPECT_EQ(found_in(*opened_copy(copy)), "");
}

}  // namespace
}  // namespace millrace::store
