// What the user answers to runs, at work or not.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "run/durable/answered_before.hpp"
#include "run/durable/run_records.hpp"
#include "run/durable/run_registry.hpp"
#include "run/durable/unknown_outcomes.hpp"
#include "run/suspended_runs.hpp"
#include "store/checkpoint_chain.hpp"
#include "store/rules.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

Error not_waiting() {
  return make_error(Errc::approval_answered, "The run does not wait for an answer.");
}

// The hashes of the tools of now, by the approvals that are about them.
using ToolsNow = std::map<std::string, std::string>;

// The decisions of a resume list, each about an approval of the run.
std::vector<store::Decision> decisions_of(const Tree& resume, const store::RunId& run,
                                          const std::string& principal, const ToolsNow& tools) {
  std::vector<store::Decision> decisions;
  std::set<std::string> known;
  for (const Tree& entry : resume.items()) {
    store::Decision decision;
    decision.approval = entry["interruptId"].string();
    decision.principal = principal;
    decision.decision = entry.to_json();
    decision.by = principal;
    decision.run = run;
    const auto now = tools.find(decision.approval);
    if (now != tools.end()) decision.tools_hash = now->second;
    if (known.insert(decision.decision).second) decisions.push_back(std::move(decision));
  }
  return decisions;
}

Error undecided(store::StorageBackend& backend, const store::Decision& decision,
                store::DecisionStatus status) {
  if (status == store::DecisionStatus::mismatch) return other_tools();
  if (status != store::DecisionStatus::not_found) {
    const auto rows = backend.approvals({std::nullopt, std::nullopt, false, decision.approval});
    return rows && !rows.value().empty() ? answered_before(rows.value().front()) : not_waiting();
  }
  return make_error(Errc::approval_mismatch,
                    "No interrupt " + shown_text(decision.approval) + " is pending in this run.");
}

// Decides what the entries answer, all or none, and takes the run over.
Result<std::shared_ptr<StoredRun>> take_answered(store::StorageBackend& backend,
                                                 const store::RunId& run,
                                                 const std::string& principal,
                                                 const std::string& resume_json,
                                                 const ToolsNow& tools, const std::string& owner,
                                                 const OnStranded& on_stranded) {
  const auto resume = Tree::parse(resume_json);
  if (!resume) return resume.error();
  const auto decisions = decisions_of(resume.value(), run, principal, tools);
  auto outcomes = backend.decide(decisions);
  if (!outcomes) return outcomes.error();
  for (std::size_t at = 0; at < decisions.size(); ++at) {
    const store::DecisionStatus status = outcomes.value()[at].status;
    if (status != store::DecisionStatus::decided) return undecided(backend, decisions[at], status);
  }
  auto claim = backend.claim_run(run, owner);
  if (!claim) return claim.error();
  if (!claim.value()) return not_waiting();
  return load_claimed(backend, std::move(*claim.value()), on_stranded);
}

// Keeps an event for a job that cannot be taken over now: its thread is busy with another run.
// False where it does not wait for its turn.
Result<bool> keep_event(store::StorageBackend& backend, const store::RunId& run,
                        const std::string& event, const Tree& payload) {
  auto row = backend.run(run);
  if (!row) return row.error();
  const bool is_job = row.value() && row.value()->run.kind == name_of(RunKind::job);
  if (!is_job || !store::waits_for_turn(*row.value())) return false;
  auto calls = backend.calls(run);
  if (!calls) return calls.error();
  store::CallRow call;
  call.run = run;
  call.kind = journal::CallKind::step;
  call.name = "event:" + event;
  const std::int64_t occurrence =
      1 + std::count_if(calls.value().begin(), calls.value().end(),
                        [&](const store::CallRow& other) { return other.name == call.name; });
  call.call = call.name + '#' + std::to_string(occurrence);
  call.effect = journal::Effect::read;
  call.state = journal::CallState::ok;
  call.epoch = row.value()->epoch;
  call.result = payload.to_json();
  store::AppendBatch batch;
  batch.run = run;
  batch.epoch = row.value()->epoch;
  batch.is_urgent = true;
  const std::int64_t now = backend.now();
  const journal::JobStep fact{call.name, occurrence, call.state, call.result};
  batch.page = store::page_of(journal::Fact(fact), now);
  batch.calls.push_back(call);
  store::RunChange change;
  change.run = run;
  const bool is_parked = row.value()->state == RunState::parked;
  change.state = is_parked ? RunState::parked : RunState::queued;
  if (!is_parked) change.run_at = now;
  batch.changes.push_back(std::move(change));
  return backend.append_unowned(batch);
}

// The state of a run that waits. Where it does not ask anything, another checkpoint may be missing,
// which the journal has the number of.
Result<StoredState> load_asking(store::StorageBackend& backend, const store::RunId& run) {
  auto state = load_state(backend, run);
  if (!state) return state;
  const std::string_view status = state.value().checkpoint["state"]["status"].string();
  if (status.starts_with("waiting_for_")) return state;
  journal::RunFold fold;
  MILLRACE_TRY(each_record(backend, run, [&](const journal::Record& record) {
    fold.add(record);
    return true;
  }));
  const auto root = fold.branches().find(0);
  const std::int64_t last = root == fold.branches().end() ? -1 : root->second.checkpoint;
  if (state.value().next_number <= last) return store::missing_checkpoint(run, last);
  return state;
}

}  // namespace

// Checked against the state that waits before anything is decided: what is wrong with an answer
// leaves the run as it was.
void RunRegistry::answer(const store::RunId& run, std::string principal, AgentInput input,
                         Done<StartedRun> done) {
  const os::LoopHandle loop = services_.loop.handle();
  auto answering = std::make_shared<Answering>(
      Answering{run, std::move(principal), std::move(input), std::move(done)});
  writer_->run([weak = weak_from_this(), loop, answering](store::StorageBackend& backend) mutable {
    const auto row =
        std::make_shared<Result<std::optional<store::RunRow>>>(backend.run(answering->run));
    const auto state = std::make_shared<Result<StoredState>>(load_asking(backend, answering->run));
    store::ApprovalQuery open;
    open.run = answering->run;
    if (auto approvals = backend.approvals(open)) {
      answering->open = approvals.value();
      answering->outcomes = std::move(approvals).value();
      std::erase_if(answering->outcomes,
                    [](const store::ApprovalRow& row) { return !is_about_outcome(row); });
    }
    if (const auto resume = Tree::parse(answering->input.resume_json); resume && *row) {
      const std::string& thread = row->value() ? row->value()->run.thread : std::string();
      auto over = find_answered(backend, resume.value(), answering->principal, thread);
      if (over) answering->over = std::move(over).value();
    }
    loop.post([weak, answering = std::move(answering), row, state] {
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
  const auto over = [&](const Error& error) { return answering->over.value_or(error); };
  if (row.value()->state != RunState::waiting) return answering->done(over(not_waiting()));
  const AgentPlan& plan = *agent->second.plan;
  for (const store::ApprovalRow& row : answering->open) {
    if (row.kind != journal::ApprovalKind::approval) continue;
    answering->tools[row.id] = tools_requested(state.value().checkpoint["state"], plan, row.call);
  }
  auto fits = check_entries(*answering, plan, state.value());
  if (!fits) {
    const bool is_unknown = fits.error().code == Errc::approval_mismatch;
    return answering->done(is_unknown ? over(fits.error()) : fits.error());
  }
  decide(answering);
}

Result<void> RunRegistry::check_entries(const Answering& answering, const AgentPlan& plan,
                                        const StoredState& state) const {
  if (!answering.outcomes.empty()) {
    return check_outcome_answers(answering.outcomes, answering.input.resume_json);
  }
  auto task = saved_task(state.checkpoint["state"], state.checkpoint["context"], answering.input,
                         plan, services_.now_ms(), services_.call.ids);
  return task ? Result<void>() : Result<void>(std::move(task).error());
}

void RunRegistry::decide(const std::shared_ptr<Answering>& answering) {
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop, answering = std::shared_ptr(answering),
                owner = owner_,
                on_stranded = on_stranded()](store::StorageBackend& backend) mutable {
    const auto stored = std::make_shared<Result<std::shared_ptr<StoredRun>>>(
        take_answered(backend, answering->run, answering->principal, answering->input.resume_json,
                      answering->tools, owner, on_stranded));
    loop.post([weak, answering = std::move(answering), stored] {
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

void RunRegistry::answer_function(const store::RunId& run, std::string approval,
                                  std::string principal, Tree entry, Done<bool> done) {
  struct Found {
    std::string name;
    store::DecisionOutcome decided;
  };
  const os::LoopHandle loop = services_.loop.handle();
  const auto answer = std::make_shared<Tree>(std::move(entry));
  writer_->run([weak = weak_from_this(), loop, run, approval = std::move(approval),
                principal = std::move(principal), answer,
                done = std::move(done)](store::StorageBackend& backend) mutable {
    const auto found = std::make_shared<Result<Found>>([&]() -> Result<Found> {
      auto rows = backend.approvals({std::nullopt, run, false});
      if (!rows) return rows.error();
      const auto row = std::find_if(rows.value().begin(), rows.value().end(), [&](const auto& one) {
        return one.id == approval || one.call == approval;
      });
      if (row == rows.value().end()) {
        return make_error(Errc::approval_mismatch,
                          "The run has no question " + shown_text(approval) + ".");
      }
      store::Decision decision;
      decision.approval = row->id;
      decision.principal = principal;
      answer->set("interruptId", row->id);
      decision.decision = answer->to_json();
      decision.by = principal;
      auto decided = backend.decide(decision);
      if (!decided) return decided.error();
      if (decided.value().status != store::DecisionStatus::decided) return answered_before(*row);
      return Found{row->call, decided.value()};
    }());
    loop.post([weak, run, found, answer, done = std::move(done)] {
      const auto self = weak.lock();
      if (!self) return;
      if (!*found) return done(found->error());
      const auto log = self->logs_.find(run);
      const bool is_taken =
          log != self->logs_.end() &&
          log->second->answered(found->value().name, *answer, found->value().decided);
      if (is_taken) return done(true);
      self->wake(run, nullptr, [weak, run, found, answer, done](const Result<bool>& woken) {
        const auto registry = weak.lock();
        if (registry && !(woken && woken.value())) {
          registry->at_owner(run,
                             [run, name = found->value().name, decided = found->value().decided,
                              text = answer->to_json()](RunRegistry& owner) {
                               const auto log = owner.logs_.find(run);
                               const auto entry = Tree::parse(text);
                               if (log != owner.logs_.end() && entry) {
                                 log->second->answered(name, entry.value(), decided);
                               }
                             });
        }
        done(true);
      });
    });
  });
}

void RunRegistry::wake(const store::RunId& run, First first, Done<bool> done) {
  const os::LoopHandle loop = services_.loop.handle();
  std::set<std::string, std::less<>> names;
  for (const auto& [name, agent] : agents_) names.insert(name);
  writer_->run([weak = weak_from_this(), loop, run, owner = owner_, names = std::move(names),
                first = std::move(first), done = std::move(done),
                on_stranded = on_stranded()](store::StorageBackend& backend) mutable {
    using Loaded = Result<std::shared_ptr<StoredRun>>;
    const auto stored = std::make_shared<Loaded>([&]() -> Loaded {
      auto row = backend.run(run);
      if (!row) return row.error();
      if (!row.value()) return store::no_run(run);
      const store::NewRun& of = row.value()->run;
      if (of.kind != name_of(RunKind::job)) return std::shared_ptr<StoredRun>();
      if (!names.contains(of.name)) return unknown_name(of.name);
      auto claim = backend.claim_run(run, owner);
      if (!claim) return claim.error();
      if (!claim.value()) return std::shared_ptr<StoredRun>();
      return load_claimed(backend, std::move(*claim.value()), on_stranded);
    }());
    loop.post([weak, stored, first = std::move(first), done = std::move(done)] {
      const auto self = weak.lock();
      if (!self) return;
      if (!*stored) return done(stored->error());
      if (!stored->value()) return done(false);
      self->go_on(stored->value(), nullptr, nullptr, first);
      done(true);
    });
  });
}

void RunRegistry::send(const store::RunId& run, std::string event, Tree payload, Done<bool> done) {
  const auto keep = [event, payload](store::StorageBackend& backend, const store::RunId& job) {
    return keep_event(backend, job, event, payload);
  };
  const auto log = logs_.find(run);
  const auto stored = [done] { done(true); };
  if (log != logs_.end() && log->second->take_event(event, payload, stored)) return;
  const First first = [event = std::move(event), payload = std::move(payload),
                       stored](RunLog& taken) { return taken.take_event(event, payload, stored); };
  wake(run, first, [weak = weak_from_this(), run, first, keep, done](const Result<bool>& woken) {
    if (!woken) return done(woken.error());
    if (woken.value()) return;
    const auto self = weak.lock();
    if (!self) return;
    // It may have begun work here meanwhile.
    const auto log = self->logs_.find(run);
    if (log != self->logs_.end() && first(*log->second)) return;
    store::on_store<Result<bool>>(
        *self->writer_, self->services_.loop,
        [run, keep](store::StorageBackend& backend) { return keep(backend, run); },
        [weak, run, done](const Result<bool>& added) {
          const auto registry = weak.lock();
          if (!registry) return;
          if (!added) return done(added.error());
          if (added.value()) {
            // It goes on behind the run that its thread is busy with.
            registry->queues_ = true;
            registry->refresh(run);
            registry->recover();
            return done(true);
          }
          done(make_error(Errc::invalid_state,
                          "Only a job that is not over takes events, where it is at work."));
        });
  });
}

}  // namespace millrace::run
