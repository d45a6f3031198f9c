// Runs that wait for their turn: behind the run of their thread, or behind a limit.
#include <algorithm>
#include <set>
#include <utility>

#include "journal/page.hpp"
#include "model/call/chain.hpp"
#include "os/event_loop.hpp"
#include "run/durable/queued_input.hpp"
#include "run/durable/run_registry.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

constexpr std::size_t claims_at_once = 256;

}  // namespace

void RunRegistry::limit_starts(StartRules rules) {
  rules_ = std::move(rules);
  queues_ = queues_ || rules_.any();
  start_times_->count_by(start_rates());
}

store::StartLimits RunRegistry::start_limits() const {
  store::StartLimits limits = rules_.limits;
  if (rules_.each_provider_key == 0) return limits;
  for (auto& names : names_by_key()) {
    limits.shared.push_back({std::move(names), rules_.each_provider_key});
  }
  return limits;
}

StartRates RunRegistry::start_rates() const {
  StartRates rates = rules_.rates;
  if (rules_.each_provider_key_rate.starts == 0) return rates;
  for (auto& names : names_by_key()) {
    rates.shared.push_back({std::move(names), rules_.each_provider_key_rate});
  }
  return rates;
}

// Agents whose models have the same keys.
std::vector<std::vector<std::string>> RunRegistry::names_by_key() const {
  std::map<std::set<std::string>, std::vector<std::string>> by_key;
  for (const auto& [name, agent] : agents_) {
    const auto secrets = model::secrets_of(agent.plan->chain);
    if (!secrets.empty()) by_key[{secrets.begin(), secrets.end()}].push_back(name);
  }
  std::vector<std::vector<std::string>> names;
  for (auto& [key, sharing] : by_key) names.push_back(std::move(sharing));
  return names;
}

// The run is recorded and waits; the next process with room takes it over, as after a crash.
void RunRegistry::enqueue(const StartRequest& request, store::NewRun made,
                          journal::Accepted accepted, Done<StartedRun> done) {
  queues_ = true;
  const AgentInput& input = request.input;
  const std::string stored = queued_input(function_input(input), input);
  accepted.input_json = stored;
  const std::int64_t now = services_.now_ms();
  journal::PageWriter page;
  page.add({.at_ms = now, .body = journal::Fact(accepted)});
  const journal::Segment segment{input.run_id, input.parent_run_id, input.protocol_version, {}};
  page.add({.at_ms = now, .body = journal::Fact(segment)});
  const std::string thread = input.thread_id.empty() ? made.id.text() : input.thread_id;
  page.add({.at_ms = now,
            .body = event::Event{event::RunStart{thread, input.run_id, input.parent_run_id}, {}}});
  store::AppendBatch batch;
  batch.run = made.id;
  batch.is_urgent = true;
  batch.page = page.take();
  batch.segment =
      store::SegmentRow{made.id, 0, made.principal, made.thread, input.run_id, input.body_hash};
  batch.outbox = request.outbox;
  made.owner.clear();
  batch.accept = std::move(made);
  const os::LoopHandle loop = services_.loop.handle();
  writer_->append(
      std::move(batch), [weak = weak_from_this(), loop, name = request.name,
                         stops = agents_.at(request.name).stops(request.on_disconnect),
                         done = std::move(done)](const store::AppendOutcome& outcome) mutable {
        loop.post([weak, name, stops, outcome, done = std::move(done)] {
          const auto self = weak.lock();
          if (!self) return;
          if (outcome.status == store::AppendStatus::existing) {
            return done(StartedRun{outcome.run, nullptr});
          }
          if (outcome.status != store::AppendStatus::committed) return done(start_error(outcome));
          ++self->counts_->accepted;
          auto hub = std::make_shared<RunHub>(self->services_.loop, self->writer_, self->held_,
                                              outcome.run, outcome.last, false);
          hub->stop_when_left(stops);
          self->waiting_hubs_[outcome.run] = hub;
          done(StartedRun{outcome.run, std::move(hub), outcome.first});
          self->claim({name});
        });
      });
}

void RunRegistry::begin_held(const store::RunId& run, Done<bool> done) {
  store::on_store<Result<bool>>(
      *writer_, services_.loop,
      [run](store::StorageBackend& backend) { return backend.begin_held(run); },
      [weak = weak_from_this(), done = std::move(done)](const Result<bool>& begun) {
        const auto self = weak.lock();
        if (self && begun && begun.value()) self->recover();
        done(begun);
      });
}

void RunRegistry::claim_queued() {
  if (queues_) recover();
}

// One at a time. Starts are counted where they are made, on the thread of the store.
void RunRegistry::claim(std::vector<std::string> names) {
  wanted_.insert(names.begin(), names.end());
  if (wanted_.empty() || is_claiming_) return;
  is_claiming_ = true;
  const std::set<std::string> wanted = std::exchange(wanted_, {});
  store::ClaimRequest request{
      {wanted.begin(), wanted.end()}, owner_, claims_at_once, start_limits()};
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop, request = std::move(request), rates = start_rates(),
                times = start_times_](store::StorageBackend& backend) mutable {
    const auto now = os::Timer::Clock::now();
    if (rates.any()) times->load(backend, rates, now);
    request.rates = times->counted(rates, now);
    auto claims = backend.claim(request);
    const std::size_t count = claims ? claims.value().size() : 0;
    if (!claims) {
      loop.post([weak, error = claims.error()] {
        if (const auto self = weak.lock()) self->report(std::nullopt, error);
      });
    } else {
      times->add(claims.value(), now);
      load_claims(weak, loop, backend, claims.value());
    }
    loop.post([weak, was_full = count == request.most, next = times->next(rates, now)] {
      if (const auto self = weak.lock()) self->claimed(was_full, next);
    });
  });
}

// `next`: when a run may begin that a rate holds back.
void RunRegistry::claimed(bool was_full, std::optional<os::Timer::Clock::time_point> next) {
  is_claiming_ = false;
  if (next) {
    if (!next_start_) {
      next_start_ = std::make_unique<os::Timer>(services_.loop, [this] { claim_queued(); });
    }
    next_start_->start_at(*next);
  }
  if (was_full) return recover();
  if (!wanted_.empty()) claim({});
}

}  // namespace millrace::run
