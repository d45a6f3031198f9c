// One batch into the tables in memory.
#pragma once

#include "store/memory/tables.hpp"

namespace millrace::store::memory {

AppendOutcome append(Tables& tables, const AppendBatch& batch, std::int64_t now);

}  // namespace millrace::store::memory
