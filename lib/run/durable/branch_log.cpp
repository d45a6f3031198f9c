#include "run/durable/branch_log.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "journal/checkpoint.hpp"
#include "run/durable/attachment_parts.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/ledger_rows.hpp"
#include "run/durable/stored_run.hpp"
#include "run/run_end.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

using journal::CallState;
using journal::RunState;
using json::Tree;

std::string json_of(const Tree& value) {
  return value.is_null() ? std::string() : value.to_json(json::Surrogates::replace);
}

// By their names, and those of one name as they came: the second before the tenth.
std::vector<const store::CallRow*> in_order(const Ledger& ledger) {
  std::vector<const store::CallRow*> rows;
  for (const auto& [call, row] : ledger) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const store::CallRow* a, const store::CallRow* b) {
    return std::make_tuple(std::string_view(a->name), a->call.size(), std::string_view(a->call)) <
           std::make_tuple(std::string_view(b->name), b->call.size(), std::string_view(b->call));
  });
  return rows;
}

// The id in an event that begins or ends an agent's work; "" in others.
std::string_view agent_in(const event::Body& body) {
  if (const auto* start = std::get_if<event::SubagentStart>(&body)) return start->run_id;
  if (const auto* end = std::get_if<event::SubagentEnd>(&body)) return end->run_id;
  if (const auto* failed = std::get_if<event::SubagentFailed>(&body)) return failed->run_id;
  return {};
}

}  // namespace

RunState state_of(const AgentOutcome& outcome) {
  switch (outcome.kind) {
    case AgentOutcome::Kind::finished:
    case AgentOutcome::Kind::delegated: return RunState::completed;
    case AgentOutcome::Kind::waiting: return RunState::waiting;
    case AgentOutcome::Kind::cancelled: return RunState::cancelled;
    case AgentOutcome::Kind::failed: break;
  }
  return RunState::failed;
}

BranchLog* RunLine::branch_of(const event::Event& event) const {
  if (subagents.empty()) return nullptr;
  const std::string_view id = event.subagent.empty() ? agent_in(event.body) : event.subagent;
  const auto found = id.empty() ? subagents.end() : subagents.find(id);
  return found == subagents.end() ? nullptr : found->second;
}

void BranchLog::note(const journal::Fact& fact) {
  if (!line_.is_over) line_.merger.add(line_.now(), place_.branch, fact);
}

// --- what is about to happen

bool BranchLog::attach(const Tree& messages, Attached attached) {
  if (!has_attachments(messages)) return false;
  const auto read = [messages,
                     principal = line_.options.principal](store::StorageBackend& backend) {
    Tree copy = messages;
    add_attachments(backend, principal, copy);
    return copy;
  };
  store::on_store<Tree>(*line_.writer, line_.services.loop, read, std::move(attached),
                        &store::Writer::read);
  return true;
}

store::CallRow& BranchLog::ledger_row(std::string_view id) {
  const auto found = place_.ledger.find(id);
  if (found != place_.ledger.end()) return found->second;
  store::CallRow& made = place_.ledger[std::string(id)];
  made.run = place_.run;
  made.call = id;
  made.epoch = place_.epoch;
  return made;
}

// What a call that is in the ledger came to, where it must not be made.
std::optional<tool::ToolOutcome> BranchLog::known_outcome(const CallIntent& call) {
  const auto found = place_.ledger.find(call.id);
  if (found == place_.ledger.end()) return std::nullopt;
  store::CallRow& row = found->second;
  const bool may_retry = line_.options.unknown == UnknownPolicy::retry;
  if (journal::is_over(row.state)) {
    if (row.state == CallState::unknown && may_retry) return std::nullopt;
    return outcome_of(row);
  }
  if (row.state != CallState::started || row.epoch == place_.epoch) return std::nullopt;
  // An agent goes on by its own record.
  if (call.is_agent) return std::nullopt;
  const auto answered = place_.user_outcomes.find(call.id);
  if (answered != place_.user_outcomes.end()) return answered->second;
  // Of two effects the stricter counts: the tool may have changed.
  if (stricter(row.effect, effect_of(call)) != journal::Effect::once) return std::nullopt;
  if (may_retry) return std::nullopt;
  return unknown_outcome(row.name);
}

void BranchLog::before_call(const CallIntent& call, Begin begin) {
  if (const auto known = known_outcome(call)) return begin(&*known);
  store::CallRow& row = ledger_row(call.id);
  const std::string hash = sha256_hex(call.arguments);
  if (row.tries == 0) {
    row.kind = call.is_agent ? journal::CallKind::child : journal::CallKind::tool;
    row.name = call.name;
    row.effect = effect_of(call);
    row.args = call.arguments;
    row.args_hash = hash;
    note(journal::ToolIntent{
        call.id, {}, call.name, call.arguments, hash, row.effect, call.idempotency_key, row.kind});
  }
  ++row.tries;
  row.epoch = place_.epoch;
  row.state = CallState::started;
  note(journal::ToolStarted{call.id, row.tries});
  line_.batch.calls.push_back(row);
  // A call that changes something is in the record before it begins: after a crash the model may
  // ask for another one. What an agent does to the outside waits for commits of its own.
  const bool is_harmless = call.is_agent || row.effect == journal::Effect::read;
  if (is_harmless && !line_.is_lost) return begin(nullptr);
  line_.gates.emplace_back([begin = std::move(begin)] { begin(nullptr); });
}

bool BranchLog::call_ended(std::string_view id, const tool::ToolOutcome& outcome) {
  store::CallRow& row = ledger_row(id);
  if (journal::is_over(row.state)) return false;
  row.state = state_of(outcome);
  row.result = result_json(outcome);
  const std::string extra = tool::members_json(outcome.details);
  note(journal::ToolResult{id, row.state, outcome.content, outcome.code, extra});
  line_.batch.calls.push_back(row);
  return true;
}

std::string BranchLog::key_of(std::string_view call) const {
  const auto row = place_.ledger.find(call);
  const auto key = place_.keys.find(call);
  const bool may_repeat = row != place_.ledger.end() && row->second.state == CallState::started;
  return may_repeat && key != place_.keys.end() ? key->second : std::string();
}

std::vector<std::string> BranchLog::call_ids() const {
  std::vector<std::string> ids;
  for (const auto& [id, row] : place_.ledger) ids.push_back(id);
  return ids;
}

// The state of an agent that waits is in its own checkpoint; what it had spent is counted here.
void BranchLog::keep_spent(Tree& state) const {
  Tree* runs = state.find("subAgentRuns");
  if (runs == nullptr) return;
  for (auto& [call, run] : runs->members()) {
    if (!children_.contains(std::string_view(call))) continue;
    Tree spent = Tree::object();
    for (const std::string_view member : {"usage", "cost", "report"}) {
      if (!run["state"][member].is_null()) spent.set(member, run["state"][member]);
    }
    run.set("state", std::move(spent));
  }
}

void BranchLog::rest(const Tree& state, const Tree& context) {
  Tree saved = Tree::object();
  Tree& stored = saved.set("state", state);
  // Both are the plan's; the one of a later process counts.
  for (const std::string_view member : {"tools", "toolManifestMap"}) stored.erase(member);
  keep_spent(stored);
  saved.set("context", context);
  read_.clear();
  const std::int64_t number = place_.next_checkpoint;
  const bool is_full = place_.checkpoint.is_null() || number % journal::full_checkpoint_every == 0;
  std::string data =
      is_full ? saved.to_json() : journal::checkpoint_delta(place_.checkpoint, saved);
  if (data.empty()) return;
  ++place_.next_checkpoint;
  place_.checkpoint = std::move(saved);
  note(journal::Checkpoint{place_.step, number, is_full});
  line_.batch.checkpoints.push_back({place_.run, number, 0, is_full, std::move(data)});
}

// --- steps of a job

void BranchLog::note_step(const StepRecord& step, bool keeps) {
  store::CallRow& row = ledger_row(step.name + '#' + std::to_string(step.occurrence));
  if (journal::is_over(row.state)) return;
  row.kind = step.kind;
  row.name = step.name;
  row.effect = step.effect;
  row.state = step.state;
  row.epoch = place_.epoch;
  if (step.kind == journal::CallKind::sleep) {
    row.args = std::to_string(step.until_ms);
    note(journal::Slept{step.name, step.occurrence, step.until_ms});
  } else {
    row.result = step.result_json;
    if (!step.run.empty()) row.args = child_args(step.run);
    const bool begins = step.kind == journal::CallKind::child && !journal::is_over(step.state);
    note(journal::JobStep{step.name, step.occurrence, step.state,
                          begins ? row.args : step.result_json});
  }
  if (step.state == CallState::started) ++row.tries;
  line_.batch.calls.push_back(row);
  // It is in the store.
  if (!keeps) std::string().swap(row.result);
}

std::string BranchLog::steps_json() const {
  std::string list = "[";
  for (const store::CallRow* at : in_order(place_.ledger)) {
    const store::CallRow& row = *at;
    if (list.size() > 1) list.push_back(',');
    list.push_back('{');
    json::append_member(list, "call", row.call);
    json::append_member(list, "kind", journal::name_of(row.kind));
    json::append_member(list, "state", journal::name_of(row.state));
    json::append_member(list, "effect", journal::name_of(row.effect));
    if (!row.result.empty()) json::append_raw_member(list, "result", row.result);
    if (row.kind == journal::CallKind::child) {
      json::append_member(list, "run", run_in(row).text());
    } else if (!row.args.empty()) {
      json::append_raw_member(list, "until", row.args);
    }
    list.push_back('}');
  }
  return list + "]";
}

bool BranchLog::has_child_runs() const {
  return std::any_of(place_.ledger.begin(), place_.ledger.end(), [](const auto& entry) {
    return entry.second.kind == journal::CallKind::child;
  });
}

std::int64_t BranchLog::rows_of(std::string_view name) const {
  return std::count_if(place_.ledger.begin(), place_.ledger.end(),
                       [&](const auto& entry) { return entry.second.name == name; });
}

// --- agents that work for calls

void BranchLog::go_on(const StoredRun& stored, const journal::RecoveryPlan& plan,
                      const Hold& hold) {
  place_.step = plan.step;
  place_.model_attempt = plan.attempt;
  know_answer(stored, plan, hold);
  const auto& branches = stored.fold.branches();
  if (!branches.empty()) line_.last_branch = branches.rbegin()->first;
  for (const auto& [branch, given] : stored.children) {
    if (given.row.run.parent != place_.run) continue;
    Child& child = children_[given.row.run.parent_call];
    child.agent = given.row.run.name;
    child.state = given.row.state;
    child.recorded = given.recorded;
    LogPlace place;
    place.run = given.row.run.id;
    place.branch = branch;
    place.epoch = place_.epoch;
    place.next_checkpoint = given.next_checkpoint;
    place.checkpoint = given.checkpoint;
    place.ledger = given.ledger;
    child.log = std::make_unique<BranchLog>(line_, std::move(place));
    if (!given.subagent.empty()) line_.subagents[given.subagent] = child.log.get();
    child.log->go_on(stored, given.plan, hold);
  }
}

BranchLog::Child& BranchLog::child_at(std::string_view call, std::string_view agent,
                                      std::string_view run_id) {
  const auto found = children_.find(call);
  if (found != children_.end()) return found->second;
  Child& child = children_[std::string(call)];
  child.agent = agent;
  LogPlace place;
  place.run = store::RunId::of_uuid(run_id);
  place.branch = ++line_.last_branch;
  place.epoch = place_.epoch;
  store::NewRun made;
  made.id = place.run;
  made.kind = "agent";
  made.name = agent;
  made.principal = line_.options.principal;
  made.thread = line_.options.thread_id;
  made.root = line_.root;
  made.parent = place_.run;
  made.parent_call = call;
  line_.batch.children.push_back(std::move(made));
  child.log = std::make_unique<BranchLog>(line_, std::move(place));
  return child;
}

void BranchLog::set_state(Child& child, RunState state) {
  if (std::exchange(child.state, state) == state) return;
  store::RunChange change;
  change.run = child.log->place_.run;
  change.state = state;
  change.step = child.log->place_.step;
  line_.batch.changes.push_back(std::move(change));
}

const RecordedChild* BranchLog::child_of(std::string_view call) {
  const auto found = children_.find(call);
  return found == children_.end() || !found->second.recorded ? nullptr : &*found->second.recorded;
}

BranchLog& BranchLog::begin_child(std::string_view call, std::string_view agent,
                                  std::string_view run_id) {
  Child& child = child_at(call, agent, run_id);
  const auto recorded = std::exchange(child.recorded, std::nullopt);
  BranchLog& log = *child.log;
  set_state(child, RunState::running);
  if (recorded && recorded->run_id == run_id) return log;
  line_.subagents[std::string(run_id)] = &log;
  note(journal::ChildStarted{call, log.place_.run.text(), agent, log.place_.branch});
  return log;
}

BranchLog& BranchLog::answer_child(std::string_view call, const Tree& state, const Tree& context) {
  Child& child = child_at(call, place_.checkpoint["state"]["subAgentRuns"][call]["agent"].string(),
                          line_.services.call.ids.next_id());
  child.recorded.reset();
  set_state(child, RunState::running);
  child.log->rest(state, context);
  return *child.log;
}

void BranchLog::end_child(std::string_view call, const AgentOutcome& outcome, const Tree& state) {
  const auto found = children_.find(call);
  if (found == children_.end()) return;
  Child& child = found->second;
  BranchLog& log = *child.log;
  const RunState to = state_of(outcome);
  if (journal::is_over(to)) {
    log.end_children(nullptr);
    log.note_terminal(outcome, state);
    log.place_.checkpoint = Tree();
    log.place_.ledger.clear();
  }
  note(journal::ChildEnded{call, log.place_.run.text(), to});
  set_state(child, to);
}

void BranchLog::end_children(event::EventSink* sink) {
  const AgentOutcome outcome{AgentOutcome::Kind::cancelled, "user_aborted", {}, {}};
  for (auto& [call, child] : children_) {
    if (journal::is_over(child.state)) continue;
    child.log->end_children(sink);
    const bool is_shown = child.recorded && !child.recorded->is_waiting;
    if (sink != nullptr && is_shown && !child.recorded->run_id.empty()) {
      const std::string message = "The agent " + child.agent + " was stopped.";
      sink->on_event(
          {event::SubagentFailed{child.recorded->run_id, message, row_of(Errc::cancelled).code}});
    }
    end_child(call, outcome, child.log->place_.checkpoint["state"]);
  }
}

void BranchLog::note_terminal(const AgentOutcome& outcome, const Tree& state) {
  const std::string usage = json_of(state["usage"]);
  const std::string cost = json_of(reported_cost(state["cost"]));
  std::string error = outcome.error ? error_json(*outcome.error) : std::string();
  // With what is known of the provider that failed.
  if (outcome.failure && !outcome.failure->json.empty()) error = outcome.failure->json;
  note(journal::Terminal{state_of(outcome), outcome.reason, error, usage, cost});
}

}  // namespace millrace::run
