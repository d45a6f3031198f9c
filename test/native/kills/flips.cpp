#include "kills/flips.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <variant>

#include "kills/worker.hpp"
#include "run/durable/check_messages.hpp"
#include "store/row_json.hpp"
#include "store/sqlite/sqlite_backend.hpp"

namespace millrace::test {
namespace {

using Lines = std::multiset<std::string>;

Result<std::unique_ptr<store::StorageBackend>> open(const std::string& path) {
  store::SqliteOptions options;
  options.path = path;
  options.durability = store::Durability::memory;
  return store::open_sqlite_backend(options);
}

// What agents do not write.
bool add_files(const std::string& path) {
  auto backend = open(path);
  if (!backend) return false;
  const auto hash = backend.value()->put_blob(std::string(20'000, 'b'));
  if (!hash) return false;
  return backend.value()
             ->put_attachment({"a", "local", "thread-1", "notes", "text/plain", hash.value(), 1, 0})
             .ok() &&
         backend.value()
             ->put_artifact({"f", "local", "thread-1", "table", "Costs", 1, "[1,2]"})
             .ok();
}

// The rows of every table; nothing where the store cannot give them.
std::optional<Lines> rows_of(store::StorageBackend& backend) {
  Lines lines;
  const auto dumped = backend.dump([&](const store::AnyRow& row) {
    store::AnyRow known = row;
    // Nothing repeats these, and no decision needs them of a call that is over.
    if (auto* const call = std::get_if<store::CallRow>(&known)) {
      call->kind = journal::CallKind::tool;
      call->tries = call->epoch = 0;
    }
    lines.insert(store::row_json(known).to_json());
    return Result<void>();
  });
  return dumped ? std::optional(std::move(lines)) : std::nullopt;
}

// As `millrace storage check`.
bool finds_problem(store::StorageBackend& backend) {
  const auto problems = backend.check();
  if (!problems || !problems.value().empty()) return true;
  const auto messages = run::check_messages(backend);
  return !messages || !messages.value().empty();
}

// The tables whose rows differ: a line is {"page":{...
std::set<std::string> tables_that_differ(const Lines& before, const Lines& after) {
  std::set<std::string> tables;
  const auto compare = [&](const Lines& all, const Lines& others) {
    for (const std::string& line : all) {
      if (others.contains(line)) continue;
      tables.insert(line.substr(2, line.find('"', 2) - 2));
    }
  };
  compare(before, after);
  compare(after, before);
  return tables;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

// What became of a store with these bytes: "found", "harmless" or the tables that differ.
std::set<std::string> look_at(const std::string& path, const std::string& bytes,
                              const Lines& before) {
  for (const char* const more : {"-wal", "-shm"}) std::filesystem::remove(path + more);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  auto backend = open(path);
  if (!backend || finds_problem(*backend.value())) return {"found"};
  const auto after = rows_of(*backend.value());
  if (!after) return {"found"};
  std::set<std::string> tables = tables_that_differ(before, *after);
  if (tables.empty()) return {"harmless"};
  return tables;
}

}  // namespace

std::string flip_bits(const std::string& folder, int flips, std::uint64_t seed) {
  // Nothing repeats what stands in these, or only a part of it.
  const std::set<std::string> unchecked{"run",     "thread",   "message",
                                        "segment", "artifact", "attachment"};
  const std::string path = store_file(folder);
  if (!add_files(path)) return "the store takes no files";
  std::optional<Lines> before;
  {
    auto backend = open(path);
    if (!backend || finds_problem(*backend.value())) return "the store has problems before";
    before = rows_of(*backend.value());
  }
  if (!before) return "the store cannot be read before";
  const std::string whole = bytes_of(path);
  std::mt19937_64 random(seed);
  std::map<std::string, int> counts;
  for (int flip = 0; flip < flips; ++flip) {
    std::string other = whole;
    const std::size_t at = random() % other.size();
    other[at] = static_cast<char>(other[at] ^ static_cast<char>(1U << random() % 8));
    for (const std::string& became : look_at(path, other, *before)) {
      ++counts[became];
      const bool is_fine = became == "found" || became == "harmless" || unchecked.contains(became);
      if (is_fine) continue;
      return "byte " + std::to_string(at) + " changed a row of '" + became + "' and was not found";
    }
  }
  std::printf("%d bits of %zu bytes changed, seed %llu:", flips, whole.size(),
              static_cast<unsigned long long>(seed));
  for (const auto& [what, count] : counts) std::printf(" %s %d,", what.c_str(), count);
  std::printf(" the journal, calls, checkpoints and blobs are as they were\n");
  return {};
}

}  // namespace millrace::test
