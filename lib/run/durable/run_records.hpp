// The records of a stored run, for those who read it as a whole.
#pragma once

#include <cstdint>
#include <functional>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "journal/record.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// Gives each record of a root run to `each`, in their order, until that gives false.
// Errors: those of the backend; store_damaged.
// Lifetime: a record is valid for the call.
Result<void> each_record(store::StorageBackend& backend, const store::RunId& root,
                         const std::function<bool(const journal::Record& record)>& each);

// About a megabyte of records behind `after`.
// Shape: {"records": [journal::record_json], "next": number for the next call, "state", "isOver",
// "isComplete": nothing follows at the moment}.
// Errors: run_not_found; cursor_ahead; store_damaged.
Result<json::Tree> read_records_json(store::StorageBackend& backend, const store::RunId& run,
                                     std::uint64_t after);

// The messages of the user that a run was started with, or got while it worked.
// Shape: {"messages": [the messages of its thread, as store::MessageRow::json has them]}.
// Errors: run_not_found; those of the backend.
Result<json::Tree> read_given_messages(store::StorageBackend& backend, const store::RunId& run);

}  // namespace millrace::run
