// All rows of a store in memory out of it, and into an empty one.
#pragma once

#include "base/result.hpp"
#include "store/any_row.hpp"
#include "store/memory/tables.hpp"

namespace millrace::store::memory {

Result<void> dump(const Tables& tables, const EachRow& each);
// Errors: those of StorageBackend::load.
Result<void> load(Tables& tables, const NextRow& next);

}  // namespace millrace::store::memory
