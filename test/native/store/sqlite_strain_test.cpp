// A store beside other programs that write, beside backups while it works, and with pages that are
// damaged.

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "store/sqlite_store.hpp"
#include "store/writer.hpp"

namespace millrace::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

class SqliteStrain : public SqliteStore {};

TEST_F(SqliteStrain, WaitsTenSecondsForAnotherProgramThatWrites) {
  constexpr seconds locked{10};
  constexpr seconds longest{14};  // a run of the test machine has others beside it
  Writer writer(opened());
  const auto append_all = [&](std::uint64_t first, std::uint64_t last) {
    std::vector<std::future<AppendStatus>> outcomes;
    for (std::uint64_t run = first; run <= last; ++run) {
      const auto done = std::make_shared<std::promise<AppendStatus>>();
      outcomes.push_back(done->get_future());
      writer.append(accepting(new_run(run)),
                    [done](const AppendOutcome& outcome) { done->set_value(outcome.status); });
    }
    return outcomes;
  };
  for (auto& outcome : append_all(1, 3)) ASSERT_EQ(outcome.get(), AppendStatus::committed);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto began = SteadyClock::now();
  auto waiting = append_all(4, 40);
  // What is there is read meanwhile.
  std::size_t looks = 0;
  while (SteadyClock::now() - began < locked) {
    std::promise<std::size_t> seen;
    const auto from = SteadyClock::now();
    writer.read(
        [&](StorageBackend& backend) { seen.set_value(backend.runs({}).value().runs.size()); });
    EXPECT_EQ(seen.get_future().get(), 3U);
    EXPECT_LT(SteadyClock::now() - from, seconds(5));
    ++looks;
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_GT(looks, 10U);
  EXPECT_EQ(waiting.front().wait_for(milliseconds(0)), std::future_status::timeout);
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  for (auto& outcome : waiting) EXPECT_EQ(outcome.get(), AppendStatus::committed);
  EXPECT_LT(SteadyClock::now() - began, longest);
  for (auto& outcome : append_all(41, 50)) EXPECT_EQ(outcome.get(), AppendStatus::committed);
  sqlite3_close(other);
}

TEST_F(SqliteStrain, IsBackedUpWholeWhileRunsWork) {
  constexpr int copies = 12;
  const auto owner = opened();
  append(*owner, accepting(new_run(1)));
  std::atomic<bool> is_over = false;
  std::atomic<std::size_t> shown = 0;  // pages that were committed
  std::thread works([&] {
    while (!is_over) {
      if (append(*owner, text_batch(1, "0123456789")).status != AppendStatus::committed) break;
      ++shown;
    }
  });
  const auto reader = opened(true);
  std::size_t last = 0;
  for (int copy = 0; copy < copies; ++copy) {
    const std::size_t before = shown;
    const std::string path = folder_.file("copy-" + std::to_string(copy) + ".db");
    ASSERT_TRUE(reader->backup(path).ok());
    SqliteOptions options;
    options.path = path;
    const auto restored = open_sqlite_backend(options);
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    EXPECT_TRUE(restored.value()->check().value().empty());
    // Nothing that had been shown is missing, and nothing is there by half.
    const std::string texts = texts_of(*restored.value(), 1);
    const auto pages = static_cast<std::size_t>(std::count(texts.begin(), texts.end(), '|'));
    EXPECT_GE(pages, before);
    EXPECT_LE(pages, shown + 1);
    EXPECT_GE(pages, last);
    last = pages;
    const std::string name = "support";
    EXPECT_EQ(restored.value()->claim({&name, 1}, "next", 10).value().size(), 1U);
  }
  is_over = true;
  works.join();
  EXPECT_GT(last, 0U);
  EXPECT_TRUE(owner->check().value().empty());
}

// Whatever page is garbage, the second one with the map of pages too: it is found, and nothing else
// happens.
TEST_F(SqliteStrain, FindsEachPageThatIsGarbage) {
  constexpr std::size_t page_bytes = 4096;
  namespace fs = std::filesystem;
  {
    const auto backend = opened();
    for (std::uint64_t run = 1; run <= 4; ++run) {
      append(*backend, accepting(new_run(run, "owner", "t" + std::to_string(run))));
      AppendBatch batch = text_batch(run, std::string(6'000, 'x'));
      batch.messages = {{"m", 0, R"({"id":"m","role":"user","content":"hello"})"}};
      append(*backend, batch);
    }
  }
  const std::string whole = folder_.file() + ".whole";
  fs::rename(folder_.file(), whole);
  const std::size_t pages = fs::file_size(whole) / page_bytes;
  ASSERT_GT(pages, 40U);
  std::size_t silent = 0;
  for (std::size_t page = 1; page <= pages; ++page) {
    SCOPED_TRACE("page " + std::to_string(page));
    fs::copy_file(whole, folder_.file(), fs::copy_options::overwrite_existing);
    std::fstream file(folder_.file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>((page - 1) * page_bytes));
    file << std::string(page_bytes, '\xA5');
    file.close();
    const auto backend = open();
    if (!backend) {
      EXPECT_TRUE(backend.error().code == Errc::store_damaged ||
                  backend.error().code == Errc::store_foreign)
          << backend.error().code_name();
      continue;
    }
    const auto problems = backend.value()->check();
    const bool is_found = !problems || !problems.value().empty();
    EXPECT_TRUE(problems.ok() || problems.error().code == Errc::store_damaged);
    // A page that is free holds nothing.
    silent += is_found ? 0 : 1;
    EXPECT_TRUE(is_found || page > 2);
    for (std::uint64_t run = 1; run <= 4; ++run) {
      const std::string texts = texts_of(*backend.value(), run);
      const bool is_whole = texts == "#|" + std::string(6'000, 'x');
      EXPECT_TRUE(is_whole || is_found) << texts.substr(0, 60);
    }
  }
  EXPECT_LE(silent, 1U);
}

}  // namespace
}  // namespace millrace::store
