// Goes on with runs that a process left, or that wait for something.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/state.hpp"
#include "agent/superseded.hpp"
#include "base/shown.hpp"
#include "journal/recovery.hpp"
#include "os/event_loop.hpp"
#include "run/durable/consent.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/run_registry.hpp"
#include "run/durable/unknown_outcomes.hpp"
#include "run/suspended_runs.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RecoveryMove;
using journal::RunState;
using json::Tree;

// Why a run is parked that waits for another version of its agent.
constexpr std::string_view version_changed = "version_changed";
constexpr std::size_t parked_at_once = 256;
// The first of many go on while the others are read.
constexpr std::size_t loaded_at_once = 32;

const journal::FoldedBranch& root_of(const StoredRun& stored) {
  static const journal::FoldedBranch none;
  const auto found = stored.fold.branches().find(0);
  return found == stored.fold.branches().end() ? none : found->second;
}

std::string list_of(const std::vector<std::string>& items) {
  std::string list = "[";
  for (const std::string& item : items) {
    if (list.size() > 1) list.push_back(',');
    list += item;
  }
  return list + "]";
}

// Consent is to a tool as the user saw it: where it has changed, the user is asked anew. Who
// answers where the agent is not known, as a command on a store does, cannot compare that.
std::vector<std::string> answers_now(const StoredRun& stored, const AgentPlan& plan) {
  std::vector<std::string> answers = stored.answers;
  for (std::string& answer : answers) {
    auto entry = Tree::parse(answer);
    if (!entry || declines(entry.value())) continue;
    if (!entry.value()["payload"]["approved"].is_true()) continue;
    const auto request = stored.requested.find(entry.value()["interruptId"].string());
    if (request == stored.requested.end()) continue;
    const auto& [call, hash] = request->second;
    if (!has_other_tool(stored.joined["state"], plan, call, hash)) continue;
    entry.value().set("status", agent::superseded_status);
    answer = entry.value().to_json();
  }
  return answers;
}

// Answers of a request to no open interrupt: the run warns of them.
void add_unmatched(const StoredRun& stored, const AgentInput* segment,
                   std::vector<std::string>& answers) {
  if (segment == nullptr || answers.empty()) return;
  const auto resume = resume_entries(segment->resume_json);
  if (!resume) return;
  for (const Tree& entry : resume.value().items()) {
    const bool is_unmatched = !stored.requested.contains(entry["interruptId"].string());
    if (is_unmatched) answers.push_back(entry.to_json());
  }
}

LogPlace place_of(const StoredRun& stored) {
  LogPlace place;
  place.run = stored.claim.run.run.id;
  place.epoch = stored.claim.run.epoch;
  place.next_checkpoint = stored.next_checkpoint;
  place.checkpoint = stored.checkpoint;
  place.ledger = stored.ledger;
  place.keys = stored.keys;
  place.user_outcomes = user_outcomes(stored);
  return place;
}

// In place of the results that the client has not sent in time, so that the run goes on: for the
// task, and for readers.
void answer_for_client(const Tree& state, AgentInput& input,
                       std::vector<std::pair<std::string, std::string>>& results) {
  constexpr std::string_view late = "The client did not send the result of the call in time.";
  input.state_messages = Tree::array();
  for (const Tree& call : state["pendingToolsCalling"].items()) {
    const std::string_view id = call["id"].string();
    if (!state["subAgentRuns"][id].is_null()) continue;
    Tree message = Tree::object();
    message.set("role", "tool");
    message.set("content", late);
    message.set("tool_call_id", id);
    input.state_messages.push(std::move(message));
    results.emplace_back(id, late);
  }
}

// What the run was given is the thread's from here on. A function has no state: an empty checkpoint
// keeps that it has begun.
void begin_queued(RunLog& log, const StoredRun& stored) {
  log.note_given(*stored.queued);
  const store::NewRun& run = stored.claim.run.run;
  if (run.kind != name_of(RunKind::agent)) {
    log.batch().checkpoints.push_back({run.id, 0, 0, true, "{}"});
  }
}

}  // namespace

void RunRegistry::recover() {
  std::vector<std::string> names;
  for (const auto& [name, agent] : agents_) names.push_back(name);
  claim(std::move(names));
}

void RunRegistry::load_claims(const std::weak_ptr<RunRegistry>& weak, const os::LoopHandle& loop,
                              store::StorageBackend& backend, std::span<store::Claim> claims) {
  while (!claims.empty()) {
    const auto some = claims.first(std::min(claims.size(), loaded_at_once));
    claims = claims.subspan(some.size());
    loop.post([weak, loaded = load_claimed(backend, some, stranded_in(weak, loop))] {
      const auto self = weak.lock();
      if (!self) return;
      for (const auto& [run, error] : loaded.unread) self->report(run, error);
      for (const auto& run : loaded.runs) self->go_on(run, nullptr, nullptr);
    });
  }
}

// What a run goes on with. Nothing is known of where a function stood.
Result<RunTask> RunRegistry::task_of(const StoredRun& stored, const AgentInput* segment,
                                     const DurableAgent& agent) {
  const store::NewRun& run = stored.claim.run.run;
  if (run.kind != name_of(agent.kind)) {
    return make_error(Errc::run_not_recoverable, "The run is of kind '" + run.kind + "', and " +
                                                     shown_text(run.name) + " is registered as '" +
                                                     std::string(name_of(agent.kind)) + "' now.");
  }
  if (agent.kind != RunKind::agent) {
    const bool was_cut = agent.kind == RunKind::function && !stored.queued;
    if (was_cut && !agent.reruns) return make_error(Errc::interrupted);
    auto task = std::move(*stored.function);
    if (!task) return std::move(task).error();
    for (const store::ApprovalRow& row : stored.approvals) {
      task.value().approvals.emplace(row.call, row);
    }
    for (const auto& [call, row] : stored.ledger) add_child_spent(task.value().spent, row);
    return RunTask(std::move(task).value());
  }
  if (stored.queued) {
    AgentInput input = *stored.queued;
    input.trace = stored.trace;
    auto task = new_task(agent, run.id, input, {});
    if (task) std::get<AgentTask>(task.value()).sent = stored.sent;
    return task;
  }
  if (!stored.checkpoint.is_object()) {
    return make_error(Errc::run_not_recoverable, "The run cannot go on after its process ended.");
  }
  auto task = agent_task_of(stored, segment, *agent.plan);
  if (!task) return std::move(task).error();
  return RunTask(std::move(task).value());
}

// A run that goes on from its last checkpoint, with what the user answered since.
Result<AgentTask> RunRegistry::agent_task_of(const StoredRun& stored, const AgentInput* segment,
                                             const AgentPlan& plan) {
  AgentTask task;
  const bool is_client_late =
      segment == nullptr && store::goes_on_without_client(stored.claim.run) &&
      !stored.joined["context"].is_object() &&
      agent::status_of(stored.joined["state"]) == agent::Status::waiting_for_async_tool;
  if (stored.answers.empty() && segment == nullptr && !is_client_late) {
    task.state = stored.joined["state"];
    agent::leave_out_time(task.state, stored.claim.downtime_ms);
    task.context = stored.joined["context"];
    task.thread_id = stored.claim.run.run.thread;
    task.run_id = stored.ag_ui_run;
  } else {
    AgentInput input;
    if (segment != nullptr) {
      input = *segment;
    } else {
      input.messages_json = "[]";
      input.run_id = stored.ag_ui_run;
    }
    input.thread_id = stored.claim.run.run.thread;
    auto answers = answers_now(stored, plan);
    add_unmatched(stored, segment, answers);
    input.resume_json = list_of(answers);
    std::vector<std::pair<std::string, std::string>> late;
    if (is_client_late) answer_for_client(stored.joined["state"], input, late);
    auto answered = saved_task(stored.joined["state"], stored.joined["context"], input, plan,
                               services_.now_ms(), services_.call.ids, agent::Expiry::was_checked);
    if (!answered) return answered;
    task = std::move(answered).value();
    task.results.insert(task.results.end(), late.begin(), late.end());
  }
  task.sent = stored.sent;
  task.interruptions = stored.interruptions;
  if (task.trace.empty()) task.trace = stored.trace;
  if (stored.client_tools_json.empty()) return task;
  auto tools = Tree::parse(stored.client_tools_json);
  if (!tools) return std::move(tools).error();
  task.client_tools = std::move(tools).value();
  return task;
}

std::shared_ptr<RunLog> RunRegistry::log_of(const StoredRun& stored) {
  const store::NewRun& run = stored.claim.run.run;
  const auto agent = agents_.find(run.name);
  if (agent == agents_.end()) return nullptr;
  LogOptions options{run.thread,    stored.ag_ui_run,    stored.parent_run_id,
                     run.principal, stored.context_json, stored.trace};
  options.on_disconnect = stored.on_disconnect;
  return make_log(agent->second, place_of(stored), std::move(options), stored.claim.run.last);
}

// Goes on by the plan of recovery; `segment` is what a reader's request begins.
void RunRegistry::go_on(const std::shared_ptr<StoredRun>& stored, const AgentInput* segment,
                        const Done<StartedRun>& done, const First& first) {
  journal::RecoveryInput input;
  input.now_ms = services_.now_ms();
  input.recoveries = root_of(*stored).recoveries;
  input.downtime_ms = stored->claim.downtime_ms;
  input.is_interrupted = stored->is_interrupted();
  journal::RecoveryPlan plan = journal::plan_recovery(root_of(*stored), input);
  // What lies between an earlier checkpoint and the answer is not rebuilt within it.
  if (!stored->lost_checkpoint.empty()) plan.records.clear();
  const auto agent = agents_.find(stored->claim.run.run.name);
  const bool can_rerun = plan.move == RecoveryMove::begin_step || plan.move == RecoveryMove::wait;
  if (agent != agents_.end() && agent->second.reruns && can_rerun && !stored->queued) {
    plan.needs_reset = true;
    plan.attempt = stored->claim.run.epoch;
  }
  if (segment != nullptr) {
    stored->ag_ui_run = segment->run_id;
    stored->parent_run_id = segment->parent_run_id;
    if (!segment->protocol_version.empty()) stored->protocol = segment->protocol_version;
  }
  const auto log = log_of(*stored);
  if (!log) return done ? done(unknown_name(stored->claim.run.run.name)) : void();
  if (done) report_start(*log, stored->claim.run.run.id, done);
  const bool is_ending = plan.move == RecoveryMove::finish_stop ||
                         plan.move == RecoveryMove::deliver || plan.move == RecoveryMove::bury;
  if (!is_ending && !has_its_version(stored->claim.run.run)) {
    if (first) first(*log);
    return log->park(version_changed);
  }
  log->go_on(*stored, plan, segment);
  if (first) first(*log);
  end_or_start(*log, *stored, segment, plan);
}

bool RunRegistry::has_its_version(const store::NewRun& run) const {
  const auto agent = agents_.find(run.name);
  if (!demands_versions_ || agent == agents_.end()) return true;
  // Runs of earlier releases have no hash.
  const bool is_same_plan = run.plan_hash.empty() || run.plan_hash == agent->second.plan_hash;
  return is_same_plan && run.version == agent->second.version;
}

// They are not due, so that no claim finds them.
void RunRegistry::claim_parked() {
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop](store::StorageBackend& backend) {
    store::RunQuery query;
    query.states = {RunState::parked};
    query.limit = parked_at_once;
    auto rows = std::make_shared<std::vector<store::RunRow>>();
    do {
      auto page = backend.runs(query);
      if (!page) break;
      std::copy_if(page.value().runs.begin(), page.value().runs.end(), std::back_inserter(*rows),
                   [](const store::RunRow& row) { return row.head == version_changed; });
      query.before = page.value().next;
    } while (!query.before.empty());
    loop.post([weak, rows] {
      const auto self = weak.lock();
      if (!self) return;
      for (const store::RunRow& row : *rows) self->claim_version(row.run);
    });
  });
}

void RunRegistry::claim_version(const store::NewRun& run) {
  if (!agents_.contains(run.name) || !has_its_version(run)) return;
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop, owner = owner_,
                run = run.id](store::StorageBackend& backend) {
    auto claim = backend.claim_run(run, owner);
    if (claim && claim.value()) load_claims(weak, loop, backend, {&*claim.value(), 1});
  });
}

void RunRegistry::end_or_start(RunLog& log, const StoredRun& stored, const AgentInput* segment,
                               const journal::RecoveryPlan& plan) {
  if (plan.move == RecoveryMove::finish_stop) {
    return log.end_as(RunState::cancelled, "user_aborted", nullptr);
  }
  const bool is_dead = plan.move == RecoveryMove::bury;
  Error error = make_error(Errc::run_not_recoverable,
                           is_dead ? "The run was taken over too often and is given up."
                                   : "The run cannot go on after its process ended.");
  const bool can_go_on =
      plan.move != RecoveryMove::fail && plan.move != RecoveryMove::deliver && !is_dead;
  if (can_go_on) {
    if (is_stopped_by_user(stored)) return log.end_as(RunState::cancelled, "user_aborted", nullptr);
    const auto unknown = log.may_ask() ? unknown_calls(stored, plan) : std::vector<UnknownCall>();
    if (!unknown.empty()) return log.ask(unknown);
    auto task = task_of(stored, segment, agents_.at(stored.claim.run.run.name));
    if (stored.queued) begin_queued(log, stored);
    if (task) return log.start(std::move(task).value());
    error = std::move(task).error();
  }
  log.end_as(is_dead ? RunState::dead : RunState::failed, "error", &error);
}

}  // namespace millrace::run
