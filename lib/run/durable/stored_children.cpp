#include "run/durable/stored_children.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "agent/state.hpp"
#include "base/json_list.hpp"
#include "run/durable/open_answers.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

// The message that an event begins; "" where it begins none.
std::string_view message_of(const event::Body& body) {
  if (const auto* text = std::get_if<event::TextStart>(&body)) return text->id;
  if (const auto* reasoning = std::get_if<event::ReasoningStart>(&body)) return reasoning->id;
  if (const auto* call = std::get_if<event::ToolStart>(&body)) return call->parent_id;
  return {};
}

Result<void> join_one(store::StorageBackend& backend, const std::vector<store::RunRow>& rows,
                      const store::RunId& run, Tree& checkpoint) {
  Tree* waiting = checkpoint.at("state").find("subAgentRuns");
  if (waiting == nullptr) return {};
  for (auto& [call, held] : waiting->members()) {
    for (const store::RunRow& row : rows) {
      const bool is_its = row.run.parent == run && row.run.parent_call == std::string_view(call);
      if (!is_its || row.state != RunState::waiting) continue;
      auto child = load_checkpoint(backend, row.run.id);
      if (!child) return child.error();
      Tree& own = child.value().checkpoint;
      MILLRACE_TRY(join_one(backend, rows, row.run.id, own));
      held.set("state", own["state"]);
    }
  }
  return {};
}

}  // namespace

Result<void> join_waiting(store::StorageBackend& backend, const store::RunId& root,
                          const store::RunId& run, Tree& checkpoint) {
  if (checkpoint["state"]["subAgentRuns"].is_null()) return {};
  const auto rows = backend.children(root);
  if (!rows) return rows.error();
  return join_one(backend, rows.value(), run, checkpoint);
}

void StoredChildren::add(const journal::Record& record) {
  const auto* fact = std::get_if<journal::Fact>(&record.body);
  if (fact == nullptr) {
    if (record.branch != 0) take_event(record.branch, record);
    return;
  }
  if (record.branch != 0 && std::holds_alternative<journal::ModelRequested>(*fact)) {
    children_[record.branch].answer.clear();
  }
  if (const auto* started = std::get_if<journal::ChildStarted>(fact)) {
    const auto branch = static_cast<std::uint32_t>(started->branch);
    children_[branch].recorded.started_ms = record.at_ms;
    if (const auto id = store::RunId::parse(started->run)) branches_[*id] = branch;
  } else if (std::holds_alternative<journal::Terminal>(*fact) && record.branch != 0) {
    children_[record.branch].ended_seq = record.seq;
  } else if (const auto* claimed = std::get_if<journal::Claimed>(fact)) {
    for (auto& [branch, child] : children_) child.recorded.started_ms += claimed->downtime_ms;
  }
}

void StoredChildren::take_event(std::uint32_t branch, const journal::Record& record) {
  StoredChild& child = children_[branch];
  const auto& event = std::get<event::Event>(record.body);
  if (const auto* start = std::get_if<event::SubagentStart>(&event.body)) {
    child.subagent = start->run_id;
    child.is_shown = true;
    child.open.clear();
    child.shown.clear();
    return;
  }
  if (std::holds_alternative<event::SubagentEnd>(event.body) ||
      std::holds_alternative<event::SubagentFailed>(event.body)) {
    child.is_shown = false;
    return;
  }
  note_shown(event.body, child.shown);
  child.answer.add(event);
  child.open.add({.seq = record.seq, .at_ms = record.at_ms, .body = event::Event{event.body}});
}

// The end of one that its caller's checkpoint knows of is the caller's affair.
bool StoredChildren::matters(const StoredRun& run, const StoredChild& child) const {
  if (!journal::is_over(child.row.state)) return true;
  const auto parent = branches_.find(child.row.run.parent.value_or(store::RunId()));
  const std::uint32_t branch = parent == branches_.end() ? 0 : parent->second;
  if (branch != 0 && !run.children.contains(branch)) return false;
  const auto folded = run.fold.branches().find(branch);
  return folded == run.fold.branches().end() || child.ended_seq > folded->second.checkpoint_seq;
}

Result<void> StoredChildren::load_rows(store::StorageBackend& backend, const StoredRun& run,
                                       StoredChild& child) {
  const store::RunId& id = child.row.run.id;
  const auto& branches = run.fold.branches();
  const auto branch = branches.find(branches_.at(id));
  auto state = load_checkpoint(backend, id, branch == branches.end() ? nullptr : &branch->second);
  if (!state) return state.error();
  child.checkpoint = std::move(state.value().checkpoint);
  child.next_checkpoint = state.value().next_number;
  auto ledger = load_ledger(backend, id);
  if (!ledger) return ledger.error();
  child.ledger = std::move(ledger).value();
  Tree joined = child.checkpoint;
  MILLRACE_TRY(join_waiting(backend, run.claim.run.run.id, id, joined));
  child.recorded.state = joined["state"];
  child.recorded.context = joined["context"];
  return {};
}

// What becomes of one that is not over.
void StoredChildren::plan(const StoredRun& run, const journal::FoldedBranch& branch,
                          std::int64_t now, StoredChild& child) {
  RecordedChild& recorded = child.recorded;
  recorded.is_waiting = child.row.state == RunState::waiting;
  if (child.is_shown || recorded.is_waiting) recorded.run_id = child.subagent;
  if (!recorded.is_waiting) agent::leave_out_time(recorded.state, run.claim.downtime_ms);
  // How often the root run was taken over counts for all of its agents.
  child.plan = journal::plan_recovery(branch, {now, 0, run.claim.downtime_ms});
  if (!child.is_shown) child.plan.records.clear();
  if (child.plan.move != journal::RecoveryMove::fail) return;
  recorded.failure =
      make_error(Errc::run_not_recoverable, "The agent cannot go on after its process ended.");
}

Result<void> StoredChildren::load(store::StorageBackend& backend, StoredRun& run) {
  if (branches_.empty()) return {};
  auto rows = backend.children(run.claim.run.run.id);
  if (!rows) return rows.error();
  std::map<std::uint32_t, store::RunRow> ordered;  // callers before those they call
  for (store::RunRow& row : rows.value()) {
    const auto found = branches_.find(row.run.id);
    if (found != branches_.end()) ordered[found->second] = std::move(row);
  }
  for (auto& [branch, row] : ordered) {
    StoredChild& child = children_[branch];
    child.row = std::move(row);
    if (!matters(run, child)) continue;
    MILLRACE_TRY(load_rows(backend, run, child));
    child.recorded.is_over = journal::is_over(child.row.state);
    const auto folded = run.fold.branches().find(branch);
    if (!child.recorded.is_over && folded != run.fold.branches().end()) {
      plan(run, folded->second, backend.now(), child);
    }
    run.children.emplace(branch, std::move(child));
  }
  return {};
}

void note_shown(const event::Body& body, std::vector<std::string>& shown) {
  if (std::holds_alternative<event::StepStart>(body)) shown.clear();
  const std::string_view id = message_of(body);
  if (!id.empty() && (shown.empty() || shown.back() != id)) shown.emplace_back(id);
}

bool comes_again(const journal::RecoveryPlan& plan) {
  if (journal::goes_on_within(plan)) return false;
  return plan.needs_reset || (!plan.response_id.empty() && plan.was_shown);
}

std::int64_t cut_attempt(const journal::RecoveryPlan& plan) {
  return std::max<std::int64_t>(plan.attempt - 1, 1);
}

void take_back(const journal::RecoveryPlan& plan, const std::vector<std::string>& shown,
               event::EventSink& sink) {
  sink.on_event({event::Reset{"process_ended", cut_attempt(plan), json::string_list(shown)}});
}

void close_children(const StoredRun& stored, bool goes_on, event::EventSink& sink) {
  for (auto at = stored.children.rbegin(); at != stored.children.rend(); ++at) {
    const StoredChild& child = at->second;
    if (!child.is_shown || child.recorded.is_over) continue;
    if (goes_on && journal::goes_on_within(child.plan)) continue;
    SubagentSink own(sink, child.subagent);
    child.open.close(own);
    if (goes_on && comes_again(child.plan)) take_back(child.plan, child.shown, own);
    if (!child.open.step().empty()) own.on_event({event::StepEnd{child.open.step()}});
  }
}

}  // namespace millrace::run
