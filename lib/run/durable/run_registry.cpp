#include "run/durable/run_registry.hpp"

#include <utility>

#include "agent/state.hpp"
#include "base/shown.hpp"
#include "journal/recovery.hpp"
#include "os/event_loop.hpp"
#include "run/suspended_runs.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RecoveryMove;
using journal::RunState;
using json::Tree;

constexpr std::size_t claims_at_once = 256;

Error unknown_name(std::string_view name) {
  return make_error(Errc::agent_not_registered,
                    "No agent is registered as " + shown_text(name) + " in this process.");
}

Error error_of(const store::AppendOutcome& outcome) {
  switch (outcome.status) {
    case store::AppendStatus::busy:
      return make_error(Errc::run_conflict,
                        "The run " + outcome.run.text() + " is at work in this thread.");
    case store::AppendStatus::conflict:
      return make_error(Errc::run_conflict,
                        "Another request began the run " + outcome.run.text() + " with this key.");
    default: break;
  }
  return outcome.error.value_or(make_error(Errc::store_failed));
}

const journal::FoldedBranch& root_of(const StoredRun& stored) {
  static const journal::FoldedBranch none;
  const auto found = stored.fold.branches().find(0);
  return found == stored.fold.branches().end() ? none : found->second;
}

Error not_waiting() {
  return make_error(Errc::approval_answered, "The run does not wait for an answer.");
}

std::string list_of(const std::vector<std::string>& items) {
  std::string list = "[";
  for (const std::string& item : items) {
    if (list.size() > 1) list.push_back(',');
    list += item;
  }
  return list + "]";
}

// Decides what the entries answer, each once, and takes the run over.
Result<std::shared_ptr<StoredRun>> take_answered(store::StorageBackend& backend,
                                                 const store::RunId& run,
                                                 const std::string& principal,
                                                 const std::string& resume_json,
                                                 const std::string& owner) {
  const auto resume = Tree::parse(resume_json);
  if (!resume) return resume.error();
  for (const Tree& entry : resume.value().items()) {
    store::Decision decision;
    decision.approval = entry["interruptId"].string();
    decision.principal = principal;
    decision.decision = entry.to_json();
    decision.by = principal;
    auto decided = backend.decide(decision);
    if (!decided) return decided.error();
    if (decided.value().status != store::DecisionStatus::decided) return not_waiting();
  }
  auto claim = backend.claim_run(run, owner);
  if (!claim) return claim.error();
  if (!claim.value()) return not_waiting();
  return load_run(backend, std::move(*claim.value()));
}

// Calls `done` once the first batch of a log is committed, or why it is not.
void report_start(RunLog& log, const store::RunId& run, const RunRegistry::Done<StartedRun>& done) {
  log.on_first_commit([hub = log.hub(), run, done](const store::AppendOutcome& outcome) {
    if (outcome.status == store::AppendStatus::existing) {
      return done(StartedRun{outcome.run, nullptr});
    }
    if (outcome.status != store::AppendStatus::committed) return done(error_of(outcome));
    done(StartedRun{run, hub, outcome.first});
  });
}

// Gives back a claimed run whose records cannot be read, with the reason.
void park(store::StorageBackend& backend, const store::RunRow& row, const Error& error) {
  store::AppendBatch batch;
  batch.run = row.run.id;
  batch.epoch = row.epoch;
  batch.is_urgent = true;
  batch.page = store::page_of(journal::Parked{error.code_name()}, backend.now());
  store::RunChange change;
  change.run = row.run.id;
  change.state = RunState::parked;
  change.head = error.code_name();
  batch.changes.push_back(std::move(change));
  backend.append({&batch, 1});
}

// A run that waits for the user gives nothing more before the answer, which is a run for its
// readers.
bool can_go_on_here(RunState state) {
  return !journal::is_over(state) && state != RunState::waiting;
}

LogPlace place_of(const StoredRun& stored) {
  LogPlace place;
  place.run = stored.claim.run.run.id;
  place.epoch = stored.claim.run.epoch;
  place.next_checkpoint = stored.next_checkpoint;
  place.checkpoint = stored.checkpoint;
  place.ledger = stored.ledger;
  return place;
}

}  // namespace

RunRegistry::RunRegistry(const model::DriverServices& services,
                         std::shared_ptr<store::Writer> writer, std::string owner)
    : services_(services), writer_(std::move(writer)), owner_(std::move(owner)) {}

void RunRegistry::add(const std::string& name, DurableAgent agent) {
  agents_.insert_or_assign(name, std::move(agent));
  claim({name});
}

// The hub of a run that begins work here; readers may be there already.
std::shared_ptr<RunHub> RunRegistry::hub_for(const store::RunId& run, std::uint64_t committed) {
  if (const auto found = waiting_hubs_.find(run); found != waiting_hubs_.end()) {
    const auto hub = found->second.lock();
    waiting_hubs_.erase(found);
    if (hub) return hub;
  }
  return std::make_shared<RunHub>(services_.loop, writer_, run, committed, false);
}

// The hub of a run that is not at work here.
std::shared_ptr<RunHub> RunRegistry::hub_of(const store::RunRow& row) {
  const store::RunId& run = row.run.id;
  if (!can_go_on_here(row.state)) {
    return std::make_shared<RunHub>(services_.loop, writer_, run, row.last, true);
  }
  std::erase_if(waiting_hubs_, [](const auto& entry) { return entry.second.expired(); });
  auto hub = waiting_hubs_[run].lock();
  if (!hub) hub = std::make_shared<RunHub>(services_.loop, writer_, run, row.last, false);
  waiting_hubs_[run] = hub;
  return hub;
}

std::shared_ptr<RunLog> RunRegistry::make_log(const DurableAgent& agent, LogPlace place,
                                              LogOptions options, std::uint64_t committed) {
  const store::RunId run = place.run;
  auto hub = hub_for(run, committed);
  options.unknown = agent.unknown;
  auto log = std::make_shared<RunLog>(services_, writer_, agent.plan, std::move(place),
                                      std::move(options), *agent.host, std::move(hub));
  log->on_over([weak = weak_from_this(), run] {
    const auto self = weak.lock();
    if (!self) return;
    self->readers_changed(run, true);
    self->logs_.erase(run);
    if (self->on_change_) self->on_change_();
  });
  log->hub()->on_readers([weak = weak_from_this(), run](bool any) {
    if (const auto self = weak.lock()) self->readers_changed(run, any);
  });
  logs_.insert_or_assign(run, log);
  if (on_change_) on_change_();
  return log;
}

// A run that nobody reads any more may work for a while, but not for ever.
void RunRegistry::readers_changed(const store::RunId& run, bool any) {
  std::erase_if(left_, [&](const Left& left) { return left.run == run; });
  if (any || !logs_.contains(run)) return;
  Left left{run, std::make_unique<os::Timer>(services_.loop, [weak = weak_from_this(), run] {
              if (const auto self = weak.lock()) self->stop(run, {}, "readers_left");
            })};
  left.deadline->start_at(os::Timer::Clock::now() + left_limits_.most_time);
  left_.push_back(std::move(left));
  if (left_.size() <= left_limits_.most_runs) return;
  const store::RunId first = left_.front().run;
  left_.pop_front();
  stop(first, {}, "too_many_runs_without_readers");
}

void RunRegistry::start(StartRequest request, Done<StartedRun> done) {
  const auto agent = agents_.find(request.name);
  if (agent == agents_.end()) return done(unknown_name(request.name));
  const AgentInput& input = request.input;
  auto task =
      SuspendedRuns().task_for(input, *agent->second.plan, services_.now_ms(), services_.call.ids);
  if (!task) return done(std::move(task).error());
  LogPlace place;
  place.run = request.id.value_or(store::RunId::of_uuid(services_.call.ids.next_id()));
  LogOptions options{input.thread_id, input.run_id, input.parent_run_id, request.principal,
                     request.context_json};
  const auto log = make_log(agent->second, place, std::move(options), 0);
  store::NewRun made;
  made.id = place.run;
  made.kind = "agent";
  made.name = request.name;
  made.version = agent->second.version;
  made.principal = request.principal;
  made.thread = input.thread_id;
  made.idem_key = std::move(request.idem_key);
  made.idem_hash = std::move(request.idem_hash);
  made.owner = owner_;
  log->batch().accept = std::move(made);
  journal::Accepted accepted;
  accepted.agent = request.name;
  accepted.version = agent->second.version;
  accepted.thread = input.thread_id;
  accepted.principal = request.principal;
  accepted.client_tools_json = input.tools_json;
  accepted.context_json = request.context_json;
  log->note(accepted);
  log->note_segment(input, {});
  report_start(*log, place.run, done);
  log->start(std::move(task).value());
}

// --- runs that were left

void RunRegistry::recover() {
  std::vector<std::string> names;
  for (const auto& [name, agent] : agents_) names.push_back(name);
  claim(std::move(names));
}

void RunRegistry::claim(std::vector<std::string> names) {
  os::EventLoop& loop = services_.loop;
  writer_->run([weak = weak_from_this(), &loop, names = std::move(names),
                owner = owner_](store::StorageBackend& backend) {
    auto claims = backend.claim(names, owner, claims_at_once);
    if (!claims) {
      return loop.post([weak, error = claims.error()] {
        if (const auto self = weak.lock()) self->report(std::nullopt, error);
      });
    }
    for (store::Claim& claim : claims.value()) {
      const store::RunRow row = claim.run;
      auto stored = load_run(backend, std::move(claim));
      if (!stored) {
        // The others go on.
        park(backend, row, stored.error());
        loop.post([weak, run = row.run.id, error = stored.error()] {
          if (const auto self = weak.lock()) self->report(run, error);
        });
        continue;
      }
      loop.post([weak, run = std::move(stored).value()] {
        if (const auto self = weak.lock()) self->go_on(run, nullptr, nullptr);
      });
    }
  });
}

// A run that goes on from its last checkpoint, with what the user answered since.
Result<AgentTask> RunRegistry::task_of(const StoredRun& stored, const AgentInput* segment,
                                       const AgentPlan& plan) {
  AgentTask task;
  if (stored.answers.empty() && segment == nullptr) {
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
    input.resume_json = list_of(stored.answers);
    auto answered = saved_task(stored.joined["state"], stored.joined["context"], input, plan,
                               services_.now_ms(), services_.call.ids);
    if (!answered) return answered;
    task = std::move(answered).value();
  }
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
  LogOptions options{run.thread, stored.ag_ui_run, stored.parent_run_id, run.principal,
                     stored.context_json};
  return make_log(agent->second, place_of(stored), std::move(options), stored.claim.run.last);
}

// Goes on by the plan of recovery; `segment` is what a reader's request begins.
void RunRegistry::go_on(const std::shared_ptr<StoredRun>& stored, const AgentInput* segment,
                        const Done<StartedRun>& done) {
  journal::RecoveryInput input;
  input.now_ms = services_.now_ms();
  input.recoveries = root_of(*stored).recoveries;
  input.downtime_ms = stored->claim.downtime_ms;
  const journal::RecoveryPlan plan = journal::plan_recovery(root_of(*stored), input);
  if (segment != nullptr) {
    stored->ag_ui_run = segment->run_id;
    stored->parent_run_id = segment->parent_run_id;
    if (!segment->protocol_version.empty()) stored->protocol = segment->protocol_version;
  }
  const auto log = log_of(*stored);
  if (!log) return done ? done(unknown_name(stored->claim.run.run.name)) : void();
  if (done) report_start(*log, stored->claim.run.run.id, done);
  log->go_on(*stored, plan, segment);
  end_or_start(*log, *stored, segment, plan);
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
  if (can_go_on && stored.checkpoint.is_object()) {
    auto task = task_of(stored, segment, *agents_.at(stored.claim.run.run.name).plan);
    if (task) return log.start(std::move(task).value());
    error = std::move(task).error();
  }
  log.end_as(is_dead ? RunState::dead : RunState::failed, "error", &error);
}

// --- answers of the user

// Checked against the state that waits before anything is decided: what is wrong with an answer
// leaves the run as it was.
void RunRegistry::answer(const store::RunId& run, std::string principal, AgentInput input,
                         Done<StartedRun> done) {
  os::EventLoop& loop = services_.loop;
  const auto answering = std::make_shared<Answering>(
      Answering{run, std::move(principal), std::move(input), std::move(done)});
  writer_->run([weak = weak_from_this(), &loop, answering](store::StorageBackend& backend) {
    const auto row =
        std::make_shared<Result<std::optional<store::RunRow>>>(backend.run(answering->run));
    const auto state = std::make_shared<Result<StoredState>>(load_state(backend, answering->run));
    loop.post([weak, answering, row, state] {
      if (const auto self = weak.lock()) self->check_answer(answering, *row, *state);
    });
  });
}

void RunRegistry::check_answer(const std::shared_ptr<Answering>& answering,
                               const Result<std::optional<store::RunRow>>& row,
                               const Result<StoredState>& state) {
  if (!row) return answering->done(row.error());
  if (!row.value() || row.value()->run.principal != answering->principal) {
    return answering->done(store::no_run(answering->run));
  }
  const auto agent = agents_.find(row.value()->run.name);
  if (agent == agents_.end()) return answering->done(unknown_name(row.value()->run.name));
  if (!state) return answering->done(state.error());
  if (row.value()->state != RunState::waiting) return answering->done(not_waiting());
  auto task =
      saved_task(state.value().checkpoint["state"], state.value().checkpoint["context"],
                 answering->input, *agent->second.plan, services_.now_ms(), services_.call.ids);
  if (!task) return answering->done(std::move(task).error());
  decide(answering);
}

void RunRegistry::decide(const std::shared_ptr<Answering>& answering) {
  os::EventLoop& loop = services_.loop;
  writer_->run(
      [weak = weak_from_this(), &loop, answering, owner = owner_](store::StorageBackend& backend) {
        const auto stored = std::make_shared<Result<std::shared_ptr<StoredRun>>>(take_answered(
            backend, answering->run, answering->principal, answering->input.resume_json, owner));
        loop.post([weak, answering, stored] {
          const auto self = weak.lock();
          if (!self) return;
          if (!*stored) {
            // What was decided before the failure lets the run go on all the same.
            self->recover();
            return answering->done(stored->error());
          }
          self->go_on(stored->value(), &answering->input, answering->done);
        });
      });
}

// --- readers and hosts

void RunRegistry::refresh(const store::RunId& run) {
  const auto found = waiting_hubs_.find(run);
  const auto hub = found == waiting_hubs_.end() ? nullptr : found->second.lock();
  if (!hub) return;
  os::EventLoop& loop = services_.loop;
  writer_->run([&loop, hub, run](store::StorageBackend& backend) {
    const auto row = std::make_shared<Result<std::optional<store::RunRow>>>(backend.run(run));
    loop.post([hub, row] {
      if (!*row || !row->value()) return;
      hub->advance(row->value()->last, !can_go_on_here(row->value()->state));
    });
  });
}

// What is at work ends without a record, and goes on from what is committed.
void RunRegistry::close() {
  logs_.clear();
  writer_->run([owner = owner_](store::StorageBackend& backend) {
    // A store that fails keeps the runs until it is opened again.
    static_cast<void>(backend.release(owner, store::Release::clean));
  });
}

void RunRegistry::find(const store::RunId& run, Done<std::shared_ptr<RunHub>> done) {
  if (const auto log = logs_.find(run); log != logs_.end()) return done(log->second->hub());
  os::EventLoop& loop = services_.loop;
  writer_->run([weak = weak_from_this(), &loop, run,
                done = std::move(done)](store::StorageBackend& backend) {
    const auto row = std::make_shared<Result<std::optional<store::RunRow>>>(backend.run(run));
    loop.post([weak, run, row, done] {
      const auto self = weak.lock();
      if (!self) return;
      if (!*row) return done(row->error());
      if (!row->value()) return done(store::no_run(run));
      // It may have begun work here meanwhile.
      const auto log = self->logs_.find(run);
      done(log != self->logs_.end() ? log->second->hub() : self->hub_of(*row->value()));
    });
  });
}

bool RunRegistry::stop(const store::RunId& run, std::string_view by, std::string_view reason) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return false;
  const auto log = found->second;
  log->stop(by, reason);
  return true;
}

void RunRegistry::complete(const store::RunId& run, std::uint64_t id, std::string_view json) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return;
  const auto log = found->second;
  log->complete(id, json);
}

}  // namespace millrace::run
