// How an agent's run ends: what it and the agents that it called have open is closed, told and
// counted.
#include <utility>

#include "agent/decision.hpp"
#include "agent/state.hpp"
#include "run/children.hpp"
#include "run/session.hpp"

namespace millrace::run {

// The limit of time passed while somebody is waited for.
void AgentSession::expire() {
  if (outcome_) return;
  const auto self = shared_from_this();
  if (!machine_) return end_between({AgentOutcome::Kind::finished, "timeout", {}, {}});
  take_partial_turn();
  machine_->expire(services_.now_ms());
  cancel_all();
  pump();
}

// What the model has written so far stays in the conversation, and what it cost is counted: an
// answer is booked when it ends.
void AgentSession::take_partial_turn() {
  const auto turn = std::exchange(turn_, nullptr);
  if (!turn) return;
  turn->leave(owner_ != nullptr);
  take_cut_turn(*turn);
}

void AgentSession::take_cut_turn(ModelTurn& turn) {
  Tree chunk = turn.take_chunk();
  Tree spent = Tree::object();
  spent.set("turn", chunk["usage"]);
  spent.set("attempts", chunk["attempts"]);
  spent.set("report", chunk["report"]);
  chunk.erase("report");
  spent_.push_back(std::move(spent));
  if (machine_ && !turn.silent()) machine_->progress(turn_action_, std::move(chunk));
}

// Ends a run that is in no step: agents go on with their answers, and it waits for them. It ends as
// in the middle of the step that called them.
void AgentSession::end_between(AgentOutcome outcome) {
  cancel_all();
  take_spent();
  const bool stopped = outcome.kind == AgentOutcome::Kind::cancelled;
  const Tree pending = state_["pendingToolsCalling"];
  agent::abort_waiting(state_,
                       stopped ? "The call was aborted before it was finished."
                               : "The call was not finished when the time of the run was over.",
                       services_.now_ms(), services_.call.ids, agent::ResultIds::by_call);
  for (const std::string_view gone : {"subAgentRuns", "openQuestions"}) state_.erase(gone);
  if (stopped) {
    agent::set_status(state_, agent::Status::interrupted);
    Tree& interruption = state_.set("interruption", Tree::object());
    interruption.set("reason", outcome.reason);
    interruption.set("interruptedAt", agent::iso_time(services_.now_ms()));
    interruption.set("canResume", Tree::flag(true));
  } else {
    agent::set_status(state_, agent::Status::done);
    state_.set("endReason", outcome.reason);
    for (const Tree& call : pending.items()) open_calls_.emplace_back(call["id"].string());
  }
  context_ = Tree();
  report_checkpoint();
  end(std::move(outcome));
}

void AgentSession::end(AgentOutcome outcome) {
  if (outcome_) return;
  deadline_.reset();
  cancel_all();
  if (outcome.kind == AgentOutcome::Kind::finished) {
    // Calls of a last answer, or of one too many.
    for (const std::string& id : std::vector<std::string>(open_calls_)) {
      report_result(id, {"The call was not executed: the run has ended.", true, "tool_failed"});
    }
  }
  close_step();
  machine_.reset();
  outcome_ = std::move(outcome);
  if (!pumping_ && owner_ != nullptr) owner_->moved();
}

void AgentSession::end_at_once() {
  prepare_state();
  task_.reset();
  owner_->rest(state_, context_);
  end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}});
}

void AgentSession::stop() {
  if (outcome_ || std::exchange(stopping_, true)) return;
  const auto self = shared_from_this();
  if (!machine_) return end_between({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}});
  take_partial_turn();
  machine_->abort("user_aborted", services_.now_ms());
  cancel_all();
  pump();
}

void AgentSession::leave() {
  owner_ = nullptr;
  stop_recording();
  stop();
}

// What is recorded goes on in another process.
void AgentSession::stop_recording() {
  if (std::exchange(settings_.recorder, nullptr) != nullptr && turn_) turn_->leave_background();
  for (const auto& [action, child] : children_) child->stop_recording();
}

void AgentSession::record_rest(const Tree& state, const Tree& context) {
  if (settings_.recorder != nullptr) settings_.recorder->rest(state, context);
}

void AgentSession::cancel_action(std::uint64_t action) {
  if (turn_ && turn_action_ == action) {
    std::exchange(turn_, nullptr)->leave(owner_ != nullptr);
    return;
  }
  if (host_turn_ && turn_action_ == action) return leave_host_turn();
  if (unrecorded_.erase(action) != 0) return;
  waits_.erase(action);
  if (const auto job = jobs_.find(action); job != jobs_.end()) {
    const auto found = job->second;
    jobs_.erase(job);
    found->cancel();
    return;
  }
  std::erase_if(queued_, [action](const Queued& queued) { return queued.action == action; });
  if (const auto child = children_.find(action); child != children_.end()) {
    const std::unique_ptr<Child> found = std::move(child->second);
    children_.erase(child);
    drop_child(*found);
  }
}

void AgentSession::cancel_all() {
  queued_.clear();
  unrecorded_.clear();
  waits_.clear();
  if (turn_) std::exchange(turn_, nullptr)->leave(owner_ != nullptr);
  leave_host_turn();
  for (const auto& [action, job] : std::exchange(jobs_, {})) job->cancel();
  for (const auto& [action, child] : std::exchange(children_, {})) drop_child(*child);
}

// Ends an agent whose result has no reader any more: it closes what it has open, as a run of its
// own would, and what it spent is the run's.
void AgentSession::drop_child(Child& child) {
  child.stop();
  spent_.push_back(totals_of(child));
  record_child_end(child);
  report_child_end(child, {"The agent " + child.agent().name + " was stopped.", true,
                           std::string(make_error(Errc::cancelled).code_name())});
  child.leave();
}

void AgentSession::record_child_end(const Child& child) {
  if (settings_.recorder == nullptr) return;
  const AgentSession& session = child.session();
  const AgentOutcome cut{
      AgentOutcome::Kind::cancelled, child.timed_out() ? "timeout" : "user_aborted", {}, {}};
  const bool was_cut = child.timed_out() || !session.ended();
  settings_.recorder->end_child(child.call_id(), was_cut ? cut : session.outcome(),
                                session.state());
}

}  // namespace millrace::run
