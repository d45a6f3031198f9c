#include "run/durable/run_registry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "run/durable/function_task.hpp"
#include "run/suspended_runs.hpp"
#include "store/rules.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

using journal::OnDisconnect;
using journal::RunState;
using json::Tree;

// A run that waits for the user gives nothing more before the answer, which is a run for its
// readers.
bool can_go_on_here(RunState state) {
  return !journal::is_over(state) && state != RunState::waiting;
}

}  // namespace

std::string_view name_of(RunKind kind) {
  static constexpr std::array<std::string_view, 3> names{"agent", "function", "job"};
  return names.at(static_cast<std::size_t>(kind));
}

Error unknown_name(std::string_view name) {
  return make_error(Errc::agent_not_registered,
                    "No agent is registered as " + shown_text(name) + " in this process.");
}

RunRegistry::RunRegistry(const model::DriverServices& services,
                         std::shared_ptr<store::Writer> writer, std::string owner)
    : services_(services),
      writer_(std::move(writer)),
      owner_(std::move(owner)),
      start_times_(StartTimes::of(*writer_)) {}

RunRegistry::~RunRegistry() {
  run_owners::leave(*writer_, owner_);
  run_owners::post_others(*writer_, owner_,
                          [gone = owner_](RunRegistry& other) { other.forget_readers(gone); });
}

void RunRegistry::limit_left(LeftLimits limits) {
  constexpr std::chrono::hours longest{24 * 365 * 10};  // that a clock can count
  limits.most_time = std::min<std::chrono::milliseconds>(limits.most_time, longest);
  left_limits_ = limits;
}

void RunRegistry::add(const std::string& name, DurableAgent agent) {
  if (!agent.plan) agent.plan = std::make_shared<const AgentPlan>();
  agents_.insert_or_assign(name, std::move(agent));
  run_owners::join(*writer_, owner_, services_.loop, weak_from_this());
  claim({name});
  if (demands_versions_) claim_parked();
}

std::set<std::string> RunRegistry::names() const {
  std::set<std::string> names;
  for (const auto& [name, agent] : agents_) names.insert(name);
  return names;
}

std::map<std::string, std::shared_ptr<const AgentPlan>> RunRegistry::plans() const {
  std::map<std::string, std::shared_ptr<const AgentPlan>> plans;
  for (const auto& [name, agent] : agents_) {
    if (agent.kind == RunKind::agent) plans.emplace(name, agent.plan);
  }
  return plans;
}

// The hub of a run that begins work here; readers may be there already.
std::shared_ptr<RunHub> RunRegistry::hub_for(const store::RunId& run, std::uint64_t committed) {
  if (const auto found = waiting_hubs_.find(run); found != waiting_hubs_.end()) {
    const auto hub = found->second.lock();
    waiting_hubs_.erase(found);
    if (hub) return hub;
  }
  return std::make_shared<RunHub>(services_.loop, writer_, held_, run, committed, false);
}

// The hub of a run that is not at work here.
std::shared_ptr<RunHub> RunRegistry::hub_of(const store::RunRow& row) {
  const store::RunId& run = row.run.id;
  if (!can_go_on_here(row.state)) {
    return std::make_shared<RunHub>(services_.loop, writer_, held_, run, row.last, true);
  }
  std::erase_if(waiting_hubs_, [](const auto& entry) { return entry.second.expired(); });
  auto hub = waiting_hubs_[run].lock();
  if (!hub) hub = std::make_shared<RunHub>(services_.loop, writer_, held_, run, row.last, false);
  waiting_hubs_[run] = hub;
  report_readers(run, hub);
  return hub;
}

std::shared_ptr<RunLog> RunRegistry::make_log(const DurableAgent& agent, LogPlace place,
                                              LogOptions options, std::uint64_t committed) {
  const store::RunId run = place.run;
  auto hub = hub_for(run, committed);
  options.unknown = agent.unknown;
  options.approval_ms = agent.approval_ms;
  options.counts = counts_;
  hub->stop_when_left(agent.stops(options.on_disconnect));
  auto log = std::make_shared<RunLog>(services_, writer_, agent.plan, std::move(place),
                                      std::move(options), *agent.host, std::move(hub));
  log->on_over([weak = weak_from_this(), run, held = std::weak_ptr(log)] {
    const auto self = weak.lock();
    if (!self) return;
    self->readers_changed(run, true);
    const auto over = held.lock();
    if (over && over->is_suspended()) self->suspended(run, over->hub());
    if (over && over->waits_shortly() && self->on_suspend_) self->on_suspend_();
    if (over && over->lost_error()) self->lost(run, over->epoch(), *over->lost_error());
    if (over && over->leaves_child_runs()) self->stop_children(run, {}, "parent_ended");
    self->logs_.erase(run);
    self->claim_queued();
    if (self->on_change_) self->on_change_();
  });
  log->hub()->on_readers([weak = weak_from_this(), run](bool any) {
    if (const auto self = weak.lock()) self->readers_changed(run, any);
  });
  logs_.insert_or_assign(run, log);
  if (committed > 0) ask_for_readers(run);
  if (on_change_) on_change_();
  return log;
}

void RunRegistry::suspended(const store::RunId& run, const std::shared_ptr<RunHub>& hub) {
  waiting_hubs_[run] = hub;
  report_readers(run, hub);
  if (on_suspend_) on_suspend_();
}

// A run without readers may work for a while, but not for ever.
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
  // What works for a job is not for the job's reader to leave.
  const bool is_free = !request.parent && request.lane != store::Lane::inner;
  if (!is_free) request.on_disconnect = OnDisconnect::go_on;
  const AgentInput& input = request.input;
  const bool is_function = agent->second.kind != RunKind::agent;
  const std::string input_json = is_function ? function_input(input) : std::string();
  LogPlace place;
  place.run = request.id.value_or(store::RunId::next());
  auto task = new_task(agent->second, place.run, input, input_json);
  if (!task) return done(std::move(task).error());
  store::NewRun made;
  made.id = place.run;
  made.kind = name_of(agent->second.kind);
  made.name = request.name;
  made.version = agent->second.version;
  made.plan_hash = agent->second.plan_hash;
  made.principal = request.principal;
  made.thread = input.thread_id;
  made.idem_key = std::move(request.idem_key);
  made.idem_hash = std::move(request.idem_hash);
  made.owner = owner_;
  made.lane = request.lane;
  made.parent = request.parent;
  made.parent_call = request.parent_call;
  made.may_wait = request.may_wait;
  made.seen = std::move(request.seen);
  journal::Accepted accepted;
  accepted.agent = request.name;
  accepted.version = agent->second.version;
  accepted.plan_hash = agent->second.plan_hash;
  accepted.thread = input.thread_id;
  accepted.principal = request.principal;
  accepted.input_json = input_json;
  accepted.client_tools_json = input.tools_json;
  accepted.context_json = request.context_json;
  accepted.trace = input.trace;
  accepted.on_disconnect = request.on_disconnect;
  accepted.is_structured = request.is_structured;
  if (request.is_held) made.run_at = store::until_begun;
  // Rates of other environments count what begins here.
  const bool has_rules = rules_.any() || start_times_->any();
  const bool may_wait =
      request.is_held || (request.lane != store::Lane::inner && (request.may_wait || has_rules));
  if (may_wait) return enqueue(request, std::move(made), accepted, std::move(done));
  LogOptions options{input.thread_id,   input.run_id,         input.parent_run_id,
                     request.principal, request.context_json, input.trace};
  options.on_disconnect = request.on_disconnect;
  const auto log = make_log(agent->second, place, std::move(options), 0);
  log->batch().accept = std::move(made);
  log->note(accepted);
  log->note_segment(input, {});
  for (store::OutboxRow& row : request.outbox) log->batch().outbox.push_back(std::move(row));
  report_start(*log, place.run, done);
  log->start(std::move(task).value());
}

void RunRegistry::report_start(RunLog& log, const store::RunId& run, const Done<StartedRun>& done) {
  log.on_first_commit([hub = log.hub(), run, done](const store::AppendOutcome& outcome) {
    if (outcome.status == store::AppendStatus::existing) {
      return done(StartedRun{outcome.run, nullptr});
    }
    if (outcome.status != store::AppendStatus::committed) return done(start_error(outcome));
    done(StartedRun{run, hub, outcome.first});
  });
}

Error RunRegistry::start_error(const store::AppendOutcome& outcome) {
  switch (outcome.status) {
    case store::AppendStatus::busy:
      return make_error(Errc::run_conflict,
                        "The run " + outcome.run.text() + " is at work in this thread.");
    case store::AppendStatus::conflict:
      return make_error(Errc::run_conflict,
                        "Another request began the run " + outcome.run.text() + " with this key.");
    case store::AppendStatus::changed:
      return make_error(Errc::run_conflict, "The thread was changed before the run began.");
    default: break;
  }
  return outcome.error.value_or(make_error(Errc::store_failed));
}

Result<RunTask> RunRegistry::new_task(const DurableAgent& agent, const store::RunId& run,
                                      const AgentInput& input, std::string_view input_json) {
  if (agent.kind != RunKind::agent) {
    auto task = input.job_json.empty() ? function_task(run, input)
                                       : function_task(run, input.thread_id, input_json);
    if (!task) return std::move(task).error();
    return RunTask(std::move(task).value());
  }
  auto task = SuspendedRuns().task_for(input, *agent.plan, services_.now_ms(), services_.call.ids);
  if (!task) return std::move(task).error();
  return RunTask(std::move(task).value());
}

// --- readers and hosts

void RunRegistry::refresh(const std::vector<store::RunId>& runs) {
  std::map<store::RunId, std::shared_ptr<RunHub>> hubs;
  std::vector<store::RunId> roots;
  for (const store::RunId& run : runs) {
    const auto found = waiting_hubs_.find(run);
    auto hub = found == waiting_hubs_.end() ? nullptr : found->second.lock();
    if (!hub) continue;
    hubs.emplace(run, std::move(hub));
    roots.push_back(run);
  }
  if (roots.empty()) return;
  using Heads = Result<std::vector<store::RunHead>>;
  store::on_store<Heads>(
      *writer_, services_.loop,
      [roots](store::StorageBackend& backend) { return backend.watch(roots); },
      [hubs = std::move(hubs)](Heads heads) mutable {
        if (!heads) return;
        for (const store::RunHead& head : heads.value()) {
          const auto found = hubs.find(head.run);
          if (found == hubs.end()) continue;
          found->second->advance(head.last, !can_go_on_here(head.state));
          hubs.erase(found);
        }
        for (const auto& [run, hub] : hubs) hub->end(store::no_run(run));
      },
      &store::Writer::read);
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
  const os::LoopHandle loop = services_.loop.handle();
  writer_->read([weak = weak_from_this(), loop, run,
                 done = std::move(done)](store::StorageBackend& backend) mutable {
    const auto row = std::make_shared<Result<std::optional<store::RunRow>>>(backend.run(run));
    loop.post([weak, run, row, done = std::move(done)] {
      const auto self = weak.lock();
      if (!self) return;
      if (!*row) return done(row->error());
      if (!row->value()) return done(store::no_run(run));
      if (row->value()->records == store::StoredRecords::removed) {
        return done(store::no_records(run));
      }
      // It may have begun work here meanwhile.
      const auto log = self->logs_.find(run);
      if (log != self->logs_.end()) return done(log->second->hub());
      auto hub = self->hub_of(*row->value());
      if (row->value()->run.owner == self->owner_) self->refresh_later(run);
      done(std::move(hub));
    });
  });
}

// What takes a run over to end it commits twice: a reader that comes between sees it at work, and
// may come too late for the news of its end.
void RunRegistry::refresh_later(const store::RunId& run) {
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop, run](store::StorageBackend&) {
    loop.post([weak, run] {
      if (const auto self = weak.lock()) self->refresh(run);
    });
  });
}

bool RunRegistry::stop(const store::RunId& run, std::string_view by, std::string_view reason,
                       const Stored& stored) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) {
    const auto unrecorded = stop_lost(run, by, reason);
    if (unrecorded) stored(&*unrecorded);
    return unrecorded.has_value();
  }
  const auto log = found->second;
  // One that has come to its end, or to wait, may not be stored so yet: the store knows then.
  if (log->is_suspended() || log->has_come_to_rest()) return false;
  log->stop(by, reason, stored);
  return true;
}

void RunRegistry::at_owner(const store::RunId& run, run_owners::Work work) {
  writer_->read([&writer = *writer_, run, work = std::move(work)](store::StorageBackend& backend) {
    const auto row = backend.run(run);
    if (row && row.value()) run_owners::post(writer, row.value()->run.owner, work);
  });
}

void RunRegistry::complete(const store::RunId& run, std::uint64_t id, std::string_view json) {
  const auto found = logs_.find(run);
  if (found == logs_.end()) return;
  const auto log = found->second;
  log->complete(id, json);
}

}  // namespace millrace::run
