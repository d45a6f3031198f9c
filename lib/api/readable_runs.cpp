#include "api/readable_runs.hpp"

#include <utility>

#include "run/durable/stored_run.hpp"

namespace millrace::api {
namespace {

constexpr std::size_t most_runs = 1024;

}  // namespace

bool ReadableRuns::holds(store::StorageBackend& backend, const store::RunRow& row) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = last_.find(row.run.id);
    if (known != last_.end() && known->second == row.last) return true;
  }
  store::Claim claim;
  claim.run = row;
  const auto loaded = run::load_run(backend, std::move(claim));
  if (!loaded && loaded.error().code == Errc::store_damaged) {
    // One that went on meanwhile may be read in halves.
    const auto now = backend.run(row.run.id);
    return !now || !now.value() || now.value()->last != row.last;
  }
  if (!loaded) return true;
  const std::lock_guard lock(mutex_);
  if (last_.size() >= most_runs) last_.clear();
  last_.insert_or_assign(row.run.id, row.last);
  return true;
}

}  // namespace millrace::api
