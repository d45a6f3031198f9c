// Calls that had started when their process ended and must not run twice, where the user is to say
// whether they were made (UnknownPolicy::ask).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "journal/recovery.hpp"
#include "run/durable/branch_log.hpp"
#include "run/durable/stored_run.hpp"
#include "store/types.hpp"

namespace millrace::run {

// A call that is a question to the user, by this id.
struct UnknownCall {
  store::CallRow row;
  std::string approval;  // "" where the user has no question about it yet
  std::int64_t expires_ms = 0;
};

// The calls of the run itself whose outcome is unknown and that have no answer.
std::vector<UnknownCall> unknown_calls(const StoredRun& stored, const journal::RecoveryPlan& plan);

// AG-UI's interrupt for it. The answer is {"value": "ran" | "did_not_run" | "stop"}.
json::Tree outcome_interrupt(const store::CallRow& row, std::string_view approval,
                             std::int64_t expires_ms);

// Looks at the answers of a run that waits for such: all entries are of open questions, and have a
// value that is known.
// Errors: approval_mismatch, invalid_argument.
Result<void> check_outcome_answers(const std::vector<store::ApprovalRow>& approvals,
                                   std::string_view resume_json);
// True for a question of this kind.
bool is_about_outcome(const store::ApprovalRow& approval);

// What the user answered; a question that expired or was cancelled is not among it.
UserOutcomes user_outcomes(const StoredRun& stored);
bool is_stopped_by_user(const StoredRun& stored);

}  // namespace millrace::run
