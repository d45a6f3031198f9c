// One batch into the tables in memory.
#pragma once

#include "store/memory/tables.hpp"

namespace millrace::store::memory {

// `clock` is the time as it is, `now` that of the store, which never goes back.
AppendOutcome append(Tables& tables, const AppendBatch& batch, std::int64_t now,
                     std::int64_t clock);

}  // namespace millrace::store::memory
