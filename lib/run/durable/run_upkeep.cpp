#include "run/durable/run_upkeep.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "os/event_loop.hpp"
#include "os/heap.hpp"
#include "run/durable/claimed_run.hpp"

namespace millrace::run {
namespace {

using journal::RunState;

constexpr std::size_t runs_at_once = 200;
constexpr std::chrono::seconds while_queued{1};
// Between two sweeps of a store that has much to remove, so that runs at work come in between.
constexpr std::chrono::milliseconds while_sweeping{100};
constexpr std::chrono::milliseconds while_due{10};

// Parks runs that have no owner and whose agent is not registered. The others wait for a limit.
void park_unclaimed(store::StorageBackend& backend, const std::set<std::string>& names,
                    const std::string& owner, const OnStranded& on_stranded) {
  store::RunQuery query;
  query.states = {RunState::running};
  query.limit = runs_at_once;
  do {
    const auto runs = backend.runs(query);
    if (!runs) return;
    for (const store::RunRow& row : runs.value().runs) {
      if (!row.run.owner.empty() || names.contains(row.run.name)) continue;
      const auto claim = backend.claim_run(row.run.id, owner);
      if (!claim || !claim.value()) continue;
      give_back(backend, claim.value()->run, make_error(Errc::agent_not_registered), on_stranded);
    }
    query.before = runs.value().next;
  } while (!query.before.empty());
}

}  // namespace

// The next times that the store has.
struct RunUpkeep::Seen {
  std::int64_t now = 0;
  std::optional<std::int64_t> due;
  bool has_expired = false;
  bool has_more = false;
};

RunUpkeep::RunUpkeep(os::EventLoop& loop, std::shared_ptr<store::Writer> writer,
                     std::shared_ptr<RunRegistry> registry, UpkeepOptions options)
    : loop_(loop),
      writer_(std::move(writer)),
      registry_(std::move(registry)),
      options_(options),
      next_(loop, [this] { look(); }),
      unclaimed_(loop, [this] {
        writer_->run([names = registry_->names(), owner = registry_->owner(),
                      on_stranded = registry_->on_stranded()](store::StorageBackend& backend) {
          park_unclaimed(backend, names, owner, on_stranded);
        });
        registry_->claim_parked();
      }) {}

void RunUpkeep::start() {
  unclaimed_.start_at(os::Timer::Clock::now() + options_.unclaimed);
  look();
}

void RunUpkeep::wait(std::chrono::milliseconds time) {
  next_.start_at(os::Timer::Clock::now() + time);
}

// Looks that are wanted during a look are one.
void RunUpkeep::look() {
  looks_again_ = is_looking_;
  if (is_looking_) return;
  is_looking_ = true;
  wait(options_.longest);
  store::SweepPolicy policy = options_.retention;
  policy.is_idle = registry_->at_work() == 0;
  writer_->run(
      [weak = weak_from_this(), loop = loop_.handle(), policy](store::StorageBackend& backend) {
        const auto seen = std::make_shared<Seen>();
        const auto swept = backend.sweep(policy);
        seen->has_expired = swept && !swept.value().expired.empty();
        seen->has_more = swept && swept.value().has_more;
        if (const auto due = backend.next_due()) seen->due = due.value();
        seen->now = backend.now();
        if (policy.is_idle) os::return_free_memory();
        loop.post([weak, seen] {
          if (const auto self = weak.lock()) self->take(*seen);
        });
      });
}

void RunUpkeep::take(const Seen& seen) {
  is_looking_ = false;
  const bool is_due = seen.due && *seen.due <= seen.now;
  if (is_due || seen.has_expired) registry_->recover();
  if (std::exchange(looks_again_, false)) return look();
  std::chrono::milliseconds next = options_.longest;
  if (is_due) {
    // More may be due by now. One that stays due waits for its turn, and hides when the next one
    // is.
    const bool stays = std::exchange(due_, seen.due) == seen.due;
    pause_ = stays ? std::min<std::chrono::milliseconds>(2 * pause_, while_queued) : while_due;
    next = std::min(next, pause_);
  } else if (seen.due) {
    next = std::min(next, std::chrono::milliseconds(*seen.due - seen.now));
  }
  if (seen.has_more) next = std::min(next, while_sweeping);
  if (next < options_.longest) wait(next);
}

}  // namespace millrace::run
