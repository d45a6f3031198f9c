// Which runs that wait can be read as a whole, so that they can take an answer.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "store/backend.hpp"
#include "store/types.hpp"

namespace millrace::api {

// Thread: any.
class ReadableRuns {
 public:
  // Reads the run, but for one that was read up to its last record before. True also where the
  // store fails otherwise: that passes.
  bool holds(store::StorageBackend& backend, const store::RunRow& row);

 private:
  std::mutex mutex_;
  std::map<store::RunId, std::uint64_t>
      last_;  // records of those that were read; guarded by mutex_
};

}  // namespace millrace::api
