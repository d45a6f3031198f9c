// Claimed runs that cannot go on here are given back, so that none belongs to a process in which
// nothing works on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "run/durable/stored_run.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// Gets a claimed run that the store does not take back now.
// Thread: the store's.
using OnStranded =
    std::function<void(const store::RunId& run, std::int64_t epoch, const Error& error)>;

// Parks a claimed run with the reason, which frees it for the next claim. False where the store
// does not take that. A run that is fenced has another owner, or was never stored.
bool park_run(store::StorageBackend& backend, const store::RunId& run, std::int64_t epoch,
              std::string_view reason);

// Gives back a claimed run that cannot go on because of this error.
void give_back(store::StorageBackend& backend, const store::RunRow& row, const Error& error,
               const OnStranded& on_stranded);
// The same of a run that is most likely as unreadable a moment later: it is not due again for a
// minute, which doubles each time up to a day.
void give_back_unread(store::StorageBackend& backend, const store::RunRow& row, const Error& error,
                      const OnStranded& on_stranded);

// As load_run; a run that cannot be read is given back.
Result<std::shared_ptr<StoredRun>> load_claimed(store::StorageBackend& backend, store::Claim claim,
                                                const OnStranded& on_stranded);

struct LoadedClaims {
  std::vector<std::shared_ptr<StoredRun>> runs;
  std::vector<std::pair<store::RunId, Error>> unread;  // which were given back
};

// The same of several, which are read together: that costs less than one after the other.
LoadedClaims load_claimed(store::StorageBackend& backend, std::span<store::Claim> claims,
                          const OnStranded& on_stranded);

}  // namespace millrace::run
