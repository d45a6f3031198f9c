// Agents that worked for a run before it began here: those whose questions are answered, and those
// that were at work when a process ended.
#include <utility>

#include "agent/decision.hpp"
#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "run/children.hpp"
#include "run/session.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// A client may repeat an id; a session of its own has ids of its own.
std::uint64_t resumed_action(std::size_t index) {
  return (std::uint64_t{1} << 31U) + index;
}

// What the user answered is safe by one commit, also for agents that go on later.
bool record_answers(Recorder& recorder, const Tree& answers) {
  bool has_any = false;
  for (const auto& [call_id, answer] : answers.members()) {
    if (!answer["state"].is_object()) continue;
    has_any = true;
    record_answers(recorder.answer_child(call_id, answer["state"], answer["context"]),
                   answer["children"]);
  }
  return has_any;
}

}  // namespace

void AgentSession::resume_children() {
  agent::end_human_wait(state_, services_.now_ms());
  keep_time(agent::deadline_of(state_));
  const Tree answers = std::move(task_->children);
  if (settings_.recorder != nullptr && record_answers(*settings_.recorder, answers)) {
    owner_->rest(state_, context_);
  }
  std::size_t index = 0;
  for (const auto& [call_id, answer] : answers.members()) {
    const std::string_view name = waiting_children_[call_id]["agent"].string();
    for (const SubAgent& agent : plan_->sub_agents) {
      if (agent.name != name) continue;
      AgentTask task;
      task.thread_id = settings_.thread_id;
      task.trace = settings_.trace;
      task.used = settings_.used;
      task.interrupt_lifetime = settings_.interrupt_lifetime;
      task.state = answer["state"];
      task.context = answer["context"];
      task.children = answer["children"];
      start_child(resumed_action(++index), agent, std::string(call_id), std::move(task));
      break;
    }
  }
  if (index == 0) settle_resumed();
}

// Agents that were at work when the process ended go on beside those that were answered.
void AgentSession::take_recorded() {
  if (settings_.recorder == nullptr) return;
  for (const auto& [call_id, run] : waiting_children_.members()) {
    const RecordedChild* recorded = settings_.recorder->child_of(call_id);
    if (recorded == nullptr || recorded->is_waiting) continue;
    if (task_->children[call_id].is_object()) continue;
    if (!task_->children.is_object()) task_->children = Tree::object();
    task_->children.set(call_id, Tree::object());
  }
}

void AgentSession::end_child(std::uint64_t action, const Child& child,
                             const tool::ToolOutcome& outcome) {
  report_child_end(child, outcome);
  if (machine_) return end_tool(action, outcome);
  // It was resumed: its result goes into the state that waits for it.
  report_result(child.call_id(), outcome);
  waiting_children_.erase(child.call_id());
  state_.set("subAgentRuns", waiting_children_);
  Tree decision = Tree::object();
  decision.set("action", "tool_result");
  decision.set("toolCallId", child.call_id());
  decision.set("result", outcome.content);
  decision.set("success", Tree::flag(!outcome.is_error));
  auto applied = agent::apply_decision(std::move(state_), decision, services_.now_ms(),
                                       services_.call.ids, agent::ResultIds::by_call);
  if (!applied) {
    state_ = Tree::object();
    return end({AgentOutcome::Kind::failed, "error", applied.error(), {}});
  }
  state_ = std::move(applied.value().at("newState"));
  if (applied.value()["nextContext"].is_object()) context_ = applied.value()["nextContext"];
  settle_resumed();
}

// One that was resumed has ended: what it did is not done again. When all have, the run goes on, or
// waits for the rest.
void AgentSession::settle_resumed() {
  if (outcome_) return;
  take_spent();
  if (!children_.empty() || !queued_.empty()) {
    if (owner_ == nullptr) return;
    owner_->rest(state_, context_);
    return owner_->moved();
  }
  if (context_.is_object() && may_add_sent()) add_sent();
  keep_sent();
  report_checkpoint();
  if (!context_.is_object()) return end_waiting();
  next_step();
  pump();
}

}  // namespace millrace::run
