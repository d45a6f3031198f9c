// A new run from a record of another one, with a result or a message edited.
//
// It starts from the checkpoint at or before the record, and its ledger has the calls up to the
// record: what was over by then never runs again. Where a later checkpoint took the place of that
// one, the run begins with the conversation up to the last round of calls. It has a thread of its
// own, with the conversation up to there. Like a run that was queued, it begins where a process has
// an agent of its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run {

struct ForkRequest {
  store::RunId run;
  std::string principal;                                    // "": anybody
  std::uint64_t at = 0;                                     // the last record that counts
  std::map<std::string, std::string, std::less<>> results;  // new ones, by the ids of calls
  std::optional<std::string> message;                       // instead of the user's last one
  std::string thread;                                       // of the new run; "" makes one
};

// Reads a request. Shape: {"at": number, "results"?: {call: text}, "message"?: string,
// "threadId"?: string}; unknown members are errors.
// Errors: invalid_argument.
Result<ForkRequest> read_fork(const json::Tree& body);

// Gives the id of the new run, which is stored.
// Errors: run_not_found, also for the run of another principal; cursor_ahead; invalid_argument for
// the run of a job, a function or a sub-agent, where a sub-agent is at work at the record, for a
// run that has not begun, and where there is nothing to edit; run_conflict for a thread that
// exists.
Result<store::RunId> fork_run(store::StorageBackend& backend, const ForkRequest& request,
                              IdSource& ids);

}  // namespace millrace::run
