// A store in a file, and what a test does to the file behind its back.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "store/conformance.hpp"
#include "store/sqlite/sqlite_backend.hpp"
#include "store/store_folder.hpp"

namespace millrace::store {

class SqliteStore : public testing::Test {
 protected:
  Result<std::unique_ptr<StorageBackend>> open(bool read_only = false) {
    SqliteOptions options;
    options.path = folder_.file();
    options.read_only = read_only;
    options.durability = durability_;
    options.crowd = crowd_;
    options.recent_commits = recent_commits_;
    options.open_timeout = std::chrono::milliseconds(60);
    options.clock = [this] { return now_; };
    return open_sqlite_backend(options);
  }
  std::unique_ptr<StorageBackend> opened(bool read_only = false) {
    auto backend = open(read_only);
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    return backend ? std::move(backend).value() : nullptr;
  }
  Errc error_of_opening(bool read_only = false) {
    const auto backend = open(read_only);
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
  std::size_t crowd_ = SqliteOptions().crowd;
  std::int64_t recent_commits_ = SqliteOptions().recent_commits;
  StoreFolder folder_;
};

}  // namespace millrace::store
