// How a step ends: by itself, by a failure, by its time, or by an order.
#include <algorithm>

#include "agent/approval/waiting.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"

namespace millrace::agent {

void StepMachine::end_step() {
  if (finish_seen_ && counts_) step_count_ = std::max<std::int64_t>(0, step_count_ - 1);
  // However the approved call was carried out, the others are open still.
  const bool approved = context_["phase"].string() == "human_approved_tool";
  if (approved && !is_blocked(status_of(state_))) {
    keep_waiting(state_, Status::waiting_for_human, now_ms_);
  }
  Tree next = is_blocked(status_of(state_)) ? Tree() : std::move(next_context_);
  settle(std::move(next));
}

void StepMachine::settle(Tree next_context) {
  done_ = true;
  state_.set("stepCount", Tree::integer(step_count_));
  state_.set("lastModified", iso_time(now_ms_));
  for (const auto& [id, waiting] : waiting_) news_.cancelled.push_back(id);
  waiting_.clear();
  news_.outcome = StepOutcome{options_.lean ? std::move(state_) : state_,
                              next_context.is_object() ? std::move(next_context) : Tree(), events_};
}

// Whole instructions before the failure keep their effect.
void StepMachine::fail_step(Tree error) {
  if (done_) return;
  if (checkpoint_.is_object()) state_ = checkpoint_;
  keep_partial_answer();
  set_status(state_, Status::error);
  state_.set("error", error);
  emit_error(std::move(error));
  settle(Tree());
}

// Tools that ran keep their results; the others get one with what became of them.
void StepMachine::drop_open_work(std::string_view why) {
  if (!batch_ || batch_->custom) {
    if (checkpoint_.is_object()) state_ = checkpoint_;
    return keep_partial_answer();
  }
  Tree unfinished = Tree::text(why);
  if (options_.failure) {
    unfinished = Tree::object();
    unfinished.set("message", why);
    unfinished = error_for_model(unfinished);
  }
  for (ToolRun& run : batch_->runs) {
    if (run.over && !run.parked) {
      const Tree& error = options_.failure ? error_for_model(run.error) : run.error;
      write_tool_message(run, run.error.is_null() ? run.result : error);
    } else if (!run.parked) {
      write_tool_message(run, unfinished);
    }
  }
}

std::optional<std::int64_t> StepMachine::deadline_ms() const {
  return done_ ? std::nullopt : deadline_of(state_);
}

void StepMachine::expire(std::int64_t now_ms) {
  if (done_) return;
  now_ms_ = now_ms;
  const std::int64_t longest = state_["limits"]["maxDurationMs"].integer_or(0);
  drop_open_work("The call was not finished when the time of the run was over.");
  stop_run("timeout", "The run took longer than " + std::to_string(longest) + " ms");
  settle(Tree());
}

void StepMachine::abort(std::string_view reason, std::int64_t now_ms) {
  if (done_) return;
  now_ms_ = now_ms;
  drop_open_work("The call was aborted before it was finished.");
  const std::string at = iso_time(now_ms);
  Tree& interruption = state_.at("interruption");
  interruption.set("reason", reason);
  interruption.set("interruptedAt", at);
  interruption.set("canResume", Tree::flag(true));
  Tree event = Tree::object();
  event.set("type", "interrupted");
  event.set("reason", reason);
  event.set("interruptedAt", at);
  event.set("canResume", Tree::flag(true));
  if (next_ > 0 && executing_ && !options_.lean) {
    interruption.set("interruptedInstruction", instructions_[next_ - 1]);
    event.set("interruptedInstruction", instructions_[next_ - 1]);
  }
  set_status(state_, Status::interrupted);
  report(EndReason{std::string(reason)});
  emit(std::move(event), true);
  settle(Tree());
}

}  // namespace millrace::agent
