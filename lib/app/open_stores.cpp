#include "app/open_stores.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/start_rules.hpp"
#include "base/shown.hpp"
#include "os/file_place.hpp"
#include "os/protected_files.hpp"
#include "os/random_ids.hpp"
#include "store/memory/memory_backend.hpp"
#include "store/sqlite/sqlite_backend.hpp"

namespace millrace::app {
namespace {

using json::Tree;
using Place = std::pair<std::uint64_t, std::uint64_t>;

constexpr std::string_view file_scheme = "file:";

struct OpenStores {
  std::mutex mutex;
  std::map<Place, std::weak_ptr<store::Writer>> files;
};

// Never destroyed: environments may close their stores while the process ends.
OpenStores& open_stores() {
  static OpenStores& stores = *new OpenStores;
  return stores;
}

Error wrong_option(std::string_view name, std::string_view expected, const Tree& value) {
  return make_error(Errc::invalid_option, "`" + std::string(name) + "` must be " +
                                              std::string(expected) + ", not " +
                                              shown_value(value) + ".");
}

Result<void> read_choice(StoreOptions& options, std::string_view name, const Tree& value) {
  if (name == "durability") {
    if (value.string() != "full" && value.string() != "balanced") {
      return wrong_option(name, "'full' or 'balanced'", value);
    }
    const bool is_full = value.string() == "full";
    options.durability = is_full ? store::Durability::full : store::Durability::balanced;
    return {};
  }
  if (name == "versions") {
    if (value.string() != "continue" && value.string() != "strict") {
      return wrong_option(name, "'continue' or 'strict'", value);
    }
    options.demands_versions = value.string() == "strict";
    return {};
  }
  if (value.string() != "owner" && value.string() != "reader") {
    return wrong_option(name, "'owner' or 'reader'", value);
  }
  options.read_only = value.string() == "reader";
  return {};
}

Result<void> read_left_limit(StoreOptions& options, std::string_view name, const Tree& value) {
  const std::int64_t limit = value.integer_or(-1);
  if (limit < 0) return wrong_option(name, "a whole number, 0 or more", value);
  if (name == "detachedTimeoutMs") {
    options.left_timeout = std::chrono::milliseconds(limit);
  } else {
    options.left_runs = static_cast<std::size_t>(limit);
  }
  return {};
}

Result<void> read_retention(store::SweepPolicy& policy, const Tree& value) {
  struct Row {
    std::string_view name;
    std::optional<std::int64_t> store::SweepPolicy::*time;
  };
  constexpr std::array rows{Row{"compactMs", &store::SweepPolicy::compact_ms},
                            Row{"recordsMs", &store::SweepPolicy::events_ms},
                            Row{"blobsMs", &store::SweepPolicy::blobs_ms}};
  constexpr std::int64_t longest_ms = 1000LL * 365 * 24 * 3600 * 1000;
  if (!value.is_object()) return wrong_option("retention", "an object", value);
  for (const auto& [name, time] : value.members()) {
    const auto* row = std::find_if(rows.begin(), rows.end(),
                                   [key = name.view()](const Row& one) { return one.name == key; });
    if (row == rows.end()) {
      return make_error(Errc::invalid_option,
                        "`retention` has no member " + shown_text(name.view()) + ".");
    }
    const std::int64_t ms = time.integer_or(-1);
    if (time.is_null()) continue;
    if (time.type() == json::Type::boolean_false) {
      policy.*row->time = std::nullopt;
    } else if (ms >= 0 && ms <= longest_ms) {
      policy.*row->time = ms;
    } else {
      return wrong_option("retention." + std::string(name.view()),
                          "milliseconds, or false for no end", time);
    }
  }
  return {};
}

Result<void> read_option(StoreOptions& options, std::string_view name, const Tree& value) {
  if (name == "storage") {
    options.storage = value.string();
    if (options.storage == "memory" || !path_of(options.storage).empty()) return {};
    return wrong_option(name, "'memory' or 'file:' and a path", value);
  }
  if (name == "durability" || name == "role" || name == "versions") {
    return read_choice(options, name, value);
  }
  if (name == "openTimeoutMs") {
    constexpr std::int64_t longest_ms = 24LL * 3600 * 1000;
    const std::int64_t wait = value.integer_or(-1);
    if (wait < 0 || wait > longest_ms) return wrong_option(name, "milliseconds up to a day", value);
    options.open_timeout = std::chrono::milliseconds(wait);
    return {};
  }
  if (name == "allowNetworkFileSystem") {
    options.allow_network = value.is_true();
    return {};
  }
  if (name == "detachedTimeoutMs" || name == "maxDetachedRuns") {
    return read_left_limit(options, name, value);
  }
  if (name == "concurrency") return read_concurrency(options.starts, value);
  if (name == "rate") return read_rate(options.starts, value);
  if (name == "retention") return read_retention(options.retention, value);
  return make_error(Errc::invalid_option, "A store has no option " + shown_text(name) + ".");
}

Place key_of(const os::FilePlace& place) {
  return {place.device, place.inode};
}

}  // namespace

std::string path_of(std::string_view storage) {
  if (!storage.starts_with(file_scheme)) return {};
  return std::string(storage.substr(file_scheme.size()));
}

std::string folder_of(std::string_view storage) {
  const std::string path = path_of(storage);
  if (path.empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

Result<StoreOptions> read_store_options(const Tree& options) {
  StoreOptions read;
  for (const auto& [name, value] : options.members()) {
    if (!value.is_null()) MILLRACE_TRY(read_option(read, name, value));
  }
  return read;
}

Result<std::shared_ptr<store::Writer>> open_store(const StoreOptions& options) {
  if (options.storage == "memory") {
    return std::make_shared<store::Writer>(store::make_memory_backend());
  }
  store::SqliteOptions file;
  file.path = path_of(options.storage);
  file.durability = options.durability;
  file.read_only = options.read_only;
  file.open_timeout = options.open_timeout;
  file.allow_network = options.allow_network;
  file.on_lost_commits = options.on_lost_commits;
  if (options.read_only) {
    auto backend = store::open_sqlite_backend(file);
    if (!backend) return std::move(backend).error();
    return std::make_shared<store::Writer>(std::move(backend).value());
  }
  OpenStores& stores = open_stores();
  // Held while it opens: two environments of one process wait for each other, not for a lock that
  // the process itself has.
  const std::lock_guard lock(stores.mutex);
  std::erase_if(stores.files, [](const auto& entry) { return entry.second.expired(); });
  if (const os::FilePlace place = os::place_of(file.path); place.links > 0) {
    const auto found = stores.files.find(key_of(place));
    if (auto open = found == stores.files.end() ? nullptr : found->second.lock()) return open;
  }
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  auto backend = store::open_sqlite_backend(file);
  if (!backend) return std::move(backend).error();
  // Built-in tools of this process leave them alone.
  for (const char* end : {"", "-wal", "-shm", "-journal", ".lock", ".control", ".key", ".keys",
                          ".secrets", ".sessions", ".callback-key"}) {
    os::protect_file(file.path + end);
  }
  auto writer = std::make_shared<store::Writer>(std::move(backend).value());
  stores.files[key_of(os::place_of(file.path))] = writer;
  return writer;
}

std::string owner_name() {
  return std::to_string(::getpid()) + '-' + os::RandomIds().next_id();
}

}  // namespace millrace::app
