// A store with pages of runs that stream at the same time.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "store/sqlite/recent_pages.hpp"
#include "store/sqlite_store.hpp"

namespace millrace::store {

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
    ASSERT_NO_FATAL_FAILURE(expect_read(backend));
    const auto problems = backend.check().value();
    ASSERT_TRUE(problems.empty()) << problems[0].what;
  }
  void expect_read(StorageBackend& backend) {
    for (const auto& [run, texts] : expected_) {
      ASSERT_EQ(texts_of(backend, run), texts);
      const auto last = static_cast<std::uint64_t>(std::count(texts.begin(), texts.end(), '|')) + 1;
      const RunId id = id_of(run);
      ASSERT_EQ(backend.run(id).value()->last, last);
      ASSERT_EQ(backend.watch({&id, 1}).value().at(0).last, last);
      ASSERT_EQ(texts_of(backend, run, last - 1), texts.substr(texts.rfind('|') + 1));
    }
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
  std::unique_ptr<StorageBackend> opened_copy(const std::string& path, bool read_only = false) {
    SqliteOptions options;
    options.path = path;
    options.read_only = read_only;
    options.crowd = crowd_;
    options.recent_commits = recent_commits_;
    options.on_lost_commits = [this](const Error& error) { lost_.push_back(error); };
    auto backend = open_sqlite_backend(options);
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    return backend ? std::move(backend).value() : nullptr;
  }

  std::map<std::uint64_t, std::string> expected_;
  std::vector<Error> lost_;  // commits, as opened_copy() reported them
  int texts_ = 0;
  std::int64_t epoch_ = 1;
};

}  // namespace millrace::store
