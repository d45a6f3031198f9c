// Whether the messages of threads are what the journals of their runs fold to.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// Folds each run that is over or waits for the user, and compares what it wrote into its thread,
// and what it was given where its journal has that. Messages that somebody changed are left out, as
// are those that are missing in a thread from which messages were removed.
// Errors: those of the store; a journal that cannot be read is passed over.
// Thread: that of the store.
Result<std::vector<store::Problem>> check_messages(store::StorageBackend& backend);

}  // namespace millrace::run
