// What `millrace runs show` reads of a stored run.
#pragma once

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::app {

// `is_owned`: a process has the store open, so that an owner of a run is at work.
// Shape: run_info, with "deadlineAt"?, "approvals"? (those that are open), "waits": [{"reason",
// "owner"?, "since"?, "until"?, "approval"?, "call"?, "name"?, "step"?, "attempt"?}], "calls":
// [{"call", "kind", "name", "effect", "state", "tries", "arguments"?, "result"?, "run"?}],
// "children"?: [run_info], "usage"?, "cost"?, "error"?, "damage"?: why its journal cannot be read,
// "recordsRemoved"?: true where retention removed it.
// Errors: run_not_found; those of the backend.
Result<json::Tree> report_run(store::StorageBackend& backend, const store::RunId& run,
                              bool is_owned);

// What became of an owner that a run names: without a process that has the store, nobody works on
// the run.
void correct_owner(json::Tree& info, bool is_owned);

}  // namespace millrace::app
