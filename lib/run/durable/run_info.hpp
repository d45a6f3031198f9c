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
// "endedAt"?, "lastSeq", "step", "attempts", "recoveries", "stopRequested"?, "result"?: what a
// function gave, "parent"?, "root"?, "waitsFor"?: {"reason": string, "since"?: number, "until"?:
// number, "owner"?: string, "priority"?: string}, "recordsRemoved"?: true}.
// Units: times in milliseconds since 1970.
json::Tree run_info(const store::RunRow& row);

// Shape: {"id", "runId", "toolCallId"?, "kind", "expiresAt"?, "interrupt": as the reader saw it,
// "decidedAt"?, "decidedBy"?, "expired"?}.
json::Tree approval_info(const store::ApprovalRow& row);

// The run with its open approvals as "approvals", and what a queued one waits for as
// "waitsFor"."limit": "thread", or as store::Admission::hindrance. Its place among the queued runs
// of its lane, from 1, is "waitsFor"."position"; it is absent behind too many runs to count.
// Errors: run_not_found, also for the run of another principal, "" is anybody; those of the
// backend.
Result<json::Tree> describe_run(store::StorageBackend& backend, const store::RunId& run,
                                std::string_view principal, const store::StartLimits& limits = {},
                                const store::CountedStarts& rates = {});

// Shape: {"runs": [run_info], "nextCursor"?: string}.
json::Tree run_list(const store::RunList& list);

// Reads a query of runs. Shape: {"state"?, "threadId"?, "limit"?: 1 to 1000, "cursor"?,
// "children"?: boolean}; unknown members are errors.
// Errors: invalid_argument.
Result<store::RunQuery> read_run_query(const json::Tree& query);

}  // namespace millrace::run
