// Stored runs and approvals as JSON, for HTTP, JavaScript and the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"
#include "store/types.hpp"

namespace millrace::run {

// Shape: {"id", "kind", "name", "version"?, "state", "threadId"?, "principal"?, "createdAt",
// "endedAt"?, "lastSeq", "step", "attempts", "recoveries", "stopRequested"?, "parent"?, "root"?,
// "waitsFor"?: {"reason": string, "since"?: number, "until"?: number, "owner"?: string}}.
// Units: times in milliseconds since 1970.
json::Tree run_info(const store::RunRow& row);

// Shape: {"id", "runId", "toolCallId"?, "kind", "expiresAt"?, "interrupt": as the reader saw it,
// "decidedAt"?, "decidedBy"?, "expired"?}.
json::Tree approval_info(const store::ApprovalRow& row);

// The run with its open approvals as "approvals".
// Errors: run_not_found, also for the run of another principal, "" is anybody; those of the
// backend.
Result<json::Tree> describe_run(store::StorageBackend& backend, const store::RunId& run,
                                std::string_view principal);

// Shape: {"runs": [run_info], "nextCursor"?: string}.
json::Tree run_list(const store::RunList& list);

// Reads a query of runs. Shape: {"state"?, "threadId"?, "limit"?: 1 to 1000, "cursor"?,
// "children"?: boolean}; unknown members are errors.
// Errors: invalid_argument.
Result<store::RunQuery> read_run_query(const json::Tree& query);

}  // namespace millrace::run
