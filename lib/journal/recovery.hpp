// What to do with a run whose process ended: a pure function of where it stood.
//
// The step that was cut begins again from its checkpoint, and the ledger answers the calls that are
// over, so nothing that completed runs twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/fold.hpp"

namespace millrace::journal {

enum class RecoveryMove : std::uint8_t {
  begin_step,     // from the checkpoint; `calls` says what becomes of each open call
  join_response,  // of a background response, behind `upstream_seq` where `records` are there
  ask_again,      // the model, as `attempt`
  fail,           // asked too often
  wait,           // for answers of the user
  sleep,          // until `wake_at_ms`
  enter_job,      // from its top
  finish_stop,    // cancel what is open, then end
  deliver,        // the run is over: its outbox only
  bury,           // recovered too often: dead
};

enum class CallMove : std::uint8_t {
  answer,         // the ledger has its result
  start,          // it had not started
  repeat,         // its effect allows another attempt
  ask_unknown,    // it may have happened: the policy for unknown outcomes decides
  wait,           // for the user
  take_answer,    // the user decided, or the time for it is over
  follow_child,   // the child run goes on by its own plan
  wake,           // a sleep, when its time comes
  cancel,         // the run stops before it started
  leave_unknown,  // the run stops after it started
};

struct CallRecovery {
  std::string call;
  CallMove move = CallMove::answer;
};

struct RecoveryLimits {
  std::int64_t recoveries = 5;
  std::int64_t model_attempts = 3;
  // How long a provider keeps a background response.
  std::int64_t background_window_ms = 600'000;
  // How often it is joined without a record more. One whose stored records or next one end the
  // process would be joined for good.
  std::int64_t joins = 50;
  // From there on it is read from its beginning, as the stored records may be what ends it.
  std::int64_t joins_within = 20;
};

struct RecoveryInput {
  std::int64_t now_ms = 0;
  std::int64_t recoveries = 0;  // since the last step ended, with this one
  std::int64_t downtime_ms = 0;
  bool is_interrupted = false;  // a message of the user cuts the answer
};

struct RecoveryPlan {
  RecoveryMove move = RecoveryMove::begin_step;
  std::int64_t step = 0;
  std::int64_t attempt = 1;  // of ask_again: of this request
  bool needs_reset = false;  // readers have seen text that comes again
  std::string response_id;
  bool was_shown = false;  // readers have seen a part of it
  std::int64_t upstream_seq = 0;
  std::string records;  // of the response, up to that one; "": it is read from its beginning
  std::int64_t wake_at_ms = 0;
  std::vector<CallRecovery> calls;
};

// Whether the run goes on in the middle of an answer, of which readers get the rest.
inline bool goes_on_within(const RecoveryPlan& plan) {
  return plan.move == RecoveryMove::join_response && !plan.records.empty();
}

RecoveryPlan plan_recovery(const FoldedBranch& branch, const RecoveryInput& input,
                           const RecoveryLimits& limits = {});

}  // namespace millrace::journal
