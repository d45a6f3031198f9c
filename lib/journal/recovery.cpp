#include "journal/recovery.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace millrace::journal {
namespace {

using Phase = FoldedModel::Phase;

bool has_answer(const FoldedBranch& branch, const FoldedCall& call) {
  return std::any_of(branch.approvals.begin(), branch.approvals.end(),
                     [&](const FoldedApproval& entry) {
                       return entry.call == call.call && (entry.is_decided || entry.has_expired);
                     });
}

CallMove move_of_waiting(const FoldedBranch& branch, const FoldedCall& call, std::int64_t now_ms) {
  const FoldedApproval* open = branch.open_approval_of(call.call);
  if (open == nullptr) return has_answer(branch, call) ? CallMove::take_answer : CallMove::wait;
  const bool is_late = open->expires_ms != 0 && open->expires_ms <= now_ms;
  return is_late ? CallMove::take_answer : CallMove::wait;
}

CallMove move_of_started(const FoldedCall& call, std::int64_t now_ms) {
  if (call.kind == CallKind::child) return CallMove::follow_child;
  if (call.kind == CallKind::sleep) {
    return call.until_ms <= now_ms ? CallMove::answer : CallMove::wake;
  }
  return may_repeat(call.effect) ? CallMove::repeat : CallMove::ask_unknown;
}

CallMove move_of(const FoldedBranch& branch, const FoldedCall& call, std::int64_t now_ms) {
  switch (call.state) {
    case CallState::intent: return CallMove::start;
    case CallState::waiting: return move_of_waiting(branch, call, now_ms);
    case CallState::started: return move_of_started(call, now_ms);
    case CallState::unknown: return CallMove::ask_unknown;
    case CallState::ok:
    case CallState::error:
    case CallState::denied:
    case CallState::cancelled: break;
  }
  return CallMove::answer;
}

CallMove move_at_stop(const FoldedCall& call) {
  if (is_over(call.state)) return CallMove::answer;
  return call.state == CallState::started && call.kind != CallKind::sleep ? CallMove::leave_unknown
                                                                          : CallMove::cancel;
}

RecoveryPlan stopped(const FoldedBranch& branch, RecoveryPlan plan) {
  plan.move = RecoveryMove::finish_stop;
  for (const FoldedCall& call : branch.calls) {
    plan.calls.push_back({call.call, move_at_stop(call)});
  }
  return plan;
}

bool can_join(const FoldedModel& model, const RecoveryInput& input, const RecoveryLimits& limits) {
  return model.phase == Phase::opened && model.background && !input.is_interrupted &&
         input.recoveries <= limits.joins && input.downtime_ms < limits.background_window_ms;
}

RecoveryPlan joined(const FoldedModel& model, bool is_within, RecoveryPlan plan) {
  plan.move = RecoveryMove::join_response;
  plan.response_id = model.response_id;
  plan.was_shown = model.was_shown;
  plan.attempt = model.attempt;
  plan.upstream_seq = model.upstream_seq;
  if (is_within) plan.records = model.records;
  return plan;
}

RecoveryPlan model_cut(const FoldedBranch& branch, const RecoveryLimits& limits,
                       RecoveryPlan plan) {
  const FoldedModel& model = branch.model;
  plan.attempt = model.attempt + 1;
  plan.needs_reset = model.was_shown;
  plan.move = plan.attempt > limits.model_attempts ? RecoveryMove::fail : RecoveryMove::ask_again;
  return plan;
}

// What the calls that are not over allow the branch to do.
void settle_calls(const FoldedBranch& branch, const RecoveryInput& input, RecoveryPlan& plan) {
  bool can_work = false;
  bool waits_for_user = false;
  std::int64_t wake_at = std::numeric_limits<std::int64_t>::max();
  for (const FoldedCall& call : branch.calls) {
    const CallMove move = move_of(branch, call, input.now_ms);
    plan.calls.push_back({call.call, move});
    if (move == CallMove::wake) {
      wake_at = std::min(wake_at, call.until_ms);
    } else if (move == CallMove::wait) {
      waits_for_user = true;
    } else if (move != CallMove::answer) {
      can_work = true;
    }
  }
  const bool sleeps = wake_at != std::numeric_limits<std::int64_t>::max();
  if (sleeps) plan.wake_at_ms = wake_at;
  if (can_work) return;
  if (waits_for_user) {
    plan.move = RecoveryMove::wait;
  } else if (sleeps) {
    plan.move = RecoveryMove::sleep;
  }
}

// A branch that has nothing at work and waits for the user or for a time: it is not what ends its
// processes, and may wait for longer than they live.
bool only_waits(const FoldedBranch& branch, std::int64_t now_ms) {
  if (branch.model.phase == Phase::requested || branch.model.phase == Phase::opened) return false;
  bool waits = std::any_of(
      branch.approvals.begin(), branch.approvals.end(), [&](const FoldedApproval& approval) {
        const bool is_late = approval.expires_ms != 0 && approval.expires_ms <= now_ms;
        return !approval.is_decided && !approval.has_expired && !is_late;
      });
  for (const FoldedCall& call : branch.calls) {
    if (call.state != CallState::started) continue;
    if (call.kind != CallKind::sleep) return false;
    waits = waits || call.until_ms > now_ms;
  }
  return waits;
}

}  // namespace

RecoveryPlan plan_recovery(const FoldedBranch& branch, const RecoveryInput& input,
                           const RecoveryLimits& limits) {
  RecoveryPlan plan;
  plan.step = branch.step;
  if (is_over(branch.state)) {
    plan.move = RecoveryMove::deliver;
    return plan;
  }
  if (branch.stop_requested) return stopped(branch, std::move(plan));
  // Nothing is generated twice.
  if (can_join(branch.model, input, limits)) {
    return joined(branch.model, input.recoveries <= limits.joins_within, std::move(plan));
  }
  if (input.recoveries > limits.recoveries && !only_waits(branch, input.now_ms)) {
    plan.move = RecoveryMove::bury;
    return plan;
  }
  if (branch.model.phase == Phase::requested || branch.model.phase == Phase::opened) {
    return model_cut(branch, limits, std::move(plan));
  }
  if (branch.is_job) plan.move = RecoveryMove::enter_job;
  settle_calls(branch, input, plan);
  return plan;
}

}  // namespace millrace::journal
