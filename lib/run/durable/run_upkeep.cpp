#include "run/durable/run_upkeep.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "os/event_loop.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RunState;

constexpr std::size_t runs_at_once = 200;

// Parks runs that have no owner: nobody has registered their agent.
void park_unclaimed(store::StorageBackend& backend, const std::string& owner) {
  store::RunQuery query;
  query.state = RunState::running;
  query.limit = runs_at_once;
  const auto runs = backend.runs(query);
  if (!runs) return;
  for (const store::RunRow& row : runs.value().runs) {
    if (!row.run.owner.empty()) continue;
    const auto claim = backend.claim_run(row.run.id, owner);
    if (!claim || !claim.value()) continue;
    store::AppendBatch batch;
    batch.run = row.run.id;
    batch.epoch = claim.value()->run.epoch;
    batch.is_urgent = true;
    const std::string reason(row_of(Errc::agent_not_registered).code);
    batch.page = store::page_of(journal::Parked{reason}, backend.now());
    store::RunChange change;
    change.run = row.run.id;
    change.state = RunState::parked;
    change.head = reason;
    batch.changes.push_back(std::move(change));
    backend.append({&batch, 1});
  }
}

}  // namespace

// What the store says about the time to come.
struct RunUpkeep::Seen {
  std::int64_t now = 0;
  std::optional<std::int64_t> due;
  bool has_expired = false;
};

RunUpkeep::RunUpkeep(os::EventLoop& loop, std::shared_ptr<store::Writer> writer,
                     std::shared_ptr<RunRegistry> registry, UpkeepOptions options)
    : loop_(loop),
      writer_(std::move(writer)),
      registry_(std::move(registry)),
      options_(options),
      next_(loop, [this] { look(); }),
      unclaimed_(loop, [this] {
        writer_->run([owner = registry_->owner()](store::StorageBackend& backend) {
          park_unclaimed(backend, owner);
        });
      }) {}

void RunUpkeep::start() {
  unclaimed_.start_at(os::Timer::Clock::now() + options_.unclaimed);
  look();
}

void RunUpkeep::wait(std::chrono::milliseconds time) {
  next_.start_at(os::Timer::Clock::now() + time);
}

void RunUpkeep::look() {
  wait(options_.longest);
  writer_->run([weak = weak_from_this(), &loop = loop_](store::StorageBackend& backend) {
    const auto seen = std::make_shared<Seen>();
    const auto swept = backend.sweep({});
    seen->has_expired = swept && !swept.value().expired.empty();
    if (const auto due = backend.next_due()) seen->due = due.value();
    seen->now = backend.now();
    loop.post([weak, seen] {
      if (const auto self = weak.lock()) self->take(*seen);
    });
  });
}

void RunUpkeep::take(const Seen& seen) {
  const bool is_due = seen.due && *seen.due <= seen.now;
  if (is_due || seen.has_expired) registry_->recover();
  if (!seen.due || is_due) return;
  const std::chrono::milliseconds left{*seen.due - seen.now};
  wait(std::min(left, options_.longest));
}

}  // namespace millrace::run
