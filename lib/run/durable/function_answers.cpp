// What the user answers to functions and jobs, and what they are sent.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "run/durable/answered_before.hpp"
#include "run/durable/run_registry.hpp"
#include "store/rules.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

// An answer that says neither must not count as no: an approval is decided once. Of an agent that
// asks for its calls, the answer may be a decision with an `action`, or a stop.
Result<void> check_function_answer(const store::ApprovalRow& row, const Tree& entry) {
  if (entry["status"].string() == "cancelled") return {};
  const auto read = Tree::parse(row.shown);
  const Tree interrupt = read ? read.value() : Tree();
  if (interrupt["metadata"]["kind"].string() != "approval") return {};
  const Tree& schema = interrupt["responseSchema"];
  const Tree& payload = entry["payload"];
  const Tree& approved = payload["approved"];
  if (approved.is_true() || approved.type() == json::Type::boolean_false) return {};
  if (!schema.is_null() && schema["properties"]["approved"].is_null()) return {};
  const bool is_decision = payload["stop"].is_true() || payload["action"].is_string();
  if (!schema.is_null() && is_decision) return {};
  return make_error(Errc::invalid_argument, "The answer to the approval " + shown_text(row.id) +
                                                " needs `approved`: true or false, not " +
                                                shown_value(approved) + ".");
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

}  // namespace

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
      MILLRACE_TRY(check_function_answer(*row, *answer));
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
