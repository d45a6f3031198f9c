#include "run/durable/claimed_run.hpp"

#include <algorithm>
#include <utility>

#include "store/rules.hpp"

namespace millrace::run {

namespace {

constexpr std::int64_t first_wait_ms = 60'000;
constexpr std::int64_t longest_wait_ms = std::int64_t{24} * 3600 * 1000;

bool commit_parking(store::StorageBackend& backend, const store::AppendBatch& batch) {
  const store::AppendStatus status = backend.append({&batch, 1}).front().status;
  return status != store::AppendStatus::full && status != store::AppendStatus::failed;
}

}  // namespace

bool park_run(store::StorageBackend& backend, const store::RunId& run, std::int64_t epoch,
              std::string_view reason) {
  return commit_parking(backend, store::parking(run, epoch, reason, backend.now()));
}

void give_back(store::StorageBackend& backend, const store::RunRow& row, const Error& error,
               const OnStranded& on_stranded) {
  const store::RunId& run = row.run.id;
  if (park_run(backend, run, row.epoch, error.code_name()) || !on_stranded) return;
  on_stranded(run, row.epoch, error);
}

void give_back_unread(store::StorageBackend& backend, const store::RunRow& row, const Error& error,
                      const OnStranded& on_stranded) {
  const store::RunId& run = row.run.id;
  const std::int64_t now = backend.now();
  store::AppendBatch batch = store::parking(run, row.epoch, error.code_name(), now);
  const std::int64_t doublings = std::min<std::int64_t>(row.attempts, 16);
  store::RunChange& change = batch.changes.back();
  change.attempts = row.attempts + 1;
  change.run_at = now + std::min(first_wait_ms << doublings, longest_wait_ms);
  if (commit_parking(backend, batch) || !on_stranded) return;
  on_stranded(run, row.epoch, error);
}

Result<std::shared_ptr<StoredRun>> load_claimed(store::StorageBackend& backend, store::Claim claim,
                                                const OnStranded& on_stranded) {
  LoadedClaims loaded = load_claimed(backend, {&claim, 1}, on_stranded);
  if (loaded.runs.empty()) return std::move(loaded.unread.front().second);
  return std::move(loaded.runs.front());
}

LoadedClaims load_claimed(store::StorageBackend& backend, std::span<store::Claim> claims,
                          const OnStranded& on_stranded) {
  LoadedClaims loaded;
  std::vector<std::pair<store::RunRow, Error>> unread;
  backend.read_together([&] {
    for (store::Claim& claim : claims) {
      store::RunRow row = claim.run;
      auto run = load_run(backend, std::move(claim));
      if (run) {
        loaded.runs.push_back(std::move(run).value());
      } else {
        unread.emplace_back(std::move(row), std::move(run).error());
      }
    }
  });
  for (const auto& [row, error] : unread) {
    give_back_unread(backend, row, error, on_stranded);
    loaded.unread.emplace_back(row.run.id, error);
  }
  return loaded;
}

}  // namespace millrace::run
