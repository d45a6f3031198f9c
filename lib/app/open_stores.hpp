// The stores that this process has open: one for each file, whichever environments use it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "run/durable/run_registry.hpp"
#include "store/writer.hpp"

namespace millrace::app {

struct StoreOptions {
  std::string storage = "memory";  // or "file:" and a path
  store::Durability durability = store::Durability::full;
  bool read_only = false;
  std::chrono::milliseconds open_timeout{2000};
  bool allow_network = false;
  // Of the runtime that opens it; as run::LeftLimits.
  std::optional<std::chrono::milliseconds> left_timeout = {};
  std::optional<std::size_t> left_runs = {};
  run::StartRules starts = {};
  bool demands_versions = false;  // as run::RunRegistry
  store::SweepPolicy retention = {};
  // As that of store::SqliteOptions.
  std::function<void(const Error& error)> on_lost_commits = {};
};

// Reads the options from a JSON object; unknown members are errors.
// Shape: {"storage": string, "durability"?: "full" | "balanced", "role"?: "owner" | "reader",
// "openTimeoutMs"?: number, "allowNetworkFileSystem"?: boolean, "detachedTimeoutMs"?: number,
// "maxDetachedRuns"?: number, "concurrency"?, "rate"? (start_rules.hpp), "versions"?: "continue" |
// "strict", "retention"?: {"compactMs"?, "recordsMs"?, "blobsMs"?: number, or false for no end}}.
// Errors: invalid_option.
Result<StoreOptions> read_store_options(const json::Tree& options);

// The path of a store in a file; "" for one in memory.
std::string path_of(std::string_view storage);

// The folder that a store's file is in; "" for one in memory.
std::string folder_of(std::string_view storage);

// Opens the store, or joins those that have it open in this process already. Stores in memory and
// those that are only read are never shared. The folder of a file is made where it is missing.
// Blocks.
// Errors: those of store::open_sqlite_backend.
// Thread: any.
// Lifetime: the store is closed with its last user.
Result<std::shared_ptr<store::Writer>> open_store(const StoreOptions& options);

// A name for an owner of runs that no other one has: the process and a random part.
std::string owner_name();

}  // namespace millrace::app
