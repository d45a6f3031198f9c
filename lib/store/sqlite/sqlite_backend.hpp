// A store in one SQLite file, of which one process is the owner; others may read it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "os/file_place.hpp"
#include "store/backend.hpp"

namespace millrace::store {

struct SqliteOptions {
  std::string path;
  Durability durability = Durability::full;
  // Reads beside the owner, in this process or another one, and changes nothing. The folder need
  // not be writable where the store was closed, and where its -shm is there.
  bool read_only = false;
  // How long to wait for the owner before it to end.
  std::chrono::milliseconds open_timeout{2000};
  // Network file systems lose locks and syncs.
  bool allow_network = false;
  // Finds the kind of a network file system by a folder, as os::network_file_system.
  std::function<std::string(const std::string& folder)> network_kind = os::network_file_system;
  // A commit with progress of so many runs writes their pages one behind another, and each run's
  // pages get their places in its journal later.
  std::size_t crowd = 64;
  // So many commits later, some runs with each commit, so that none has to do it for all.
  std::int64_t recent_commits = 256;
  std::string vfs;  // of SQLite; "" is the system's
  // Called while the file is opened where the log had commits that were shown and cannot be read.
  std::function<void(const Error& error)> on_lost_commits = {};
  Clock clock = system_clock();
};

// Opens the file, or makes it; its folder must be there.
// Errors: store_in_use, naming the owner; store_foreign, store_newer, store_damaged; store_unsupported
// for a place where a store would not be safe; store_failed.
Result<std::unique_ptr<StorageBackend>> open_sqlite_backend(const SqliteOptions& options);

}  // namespace millrace::store
