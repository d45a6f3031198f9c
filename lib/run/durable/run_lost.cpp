// Runs whose records could not be stored: a full disk, a file that was moved. No process works on
// them until the store takes records again; then they are given back, and go on as after a crash.
#include <utility>
#include <vector>

#include "os/event_loop.hpp"
#include "run/durable/claimed_run.hpp"
#include "run/durable/run_ends.hpp"
#include "run/durable/run_registry.hpp"

namespace millrace::run {
namespace {

constexpr std::chrono::seconds between_tries{1};

}  // namespace

OnStranded RunRegistry::on_stranded() {
  return stranded_in(weak_from_this(), services_.loop.handle());
}

OnStranded RunRegistry::stranded_in(const std::weak_ptr<RunRegistry>& weak,
                                    const os::LoopHandle& loop) {
  return [weak, loop](const store::RunId& run, std::int64_t epoch, const Error& error) {
    loop.post([weak, run, epoch, error] {
      if (const auto self = weak.lock()) self->lost(run, epoch, error);
    });
  };
}

void RunRegistry::lost(const store::RunId& run, std::int64_t epoch, const Error& error) {
  lost_.insert_or_assign(run, Lost{epoch, error, {}, {}, false});
  if (!next_try_) {
    next_try_ = std::make_unique<os::Timer>(services_.loop, [this] { give_back_lost(); });
  }
  next_try_->start_at(os::Timer::Clock::now() + between_tries);
}

// Why the stop of a run that is lost cannot be recorded yet; nothing for other runs.
std::optional<Error> RunRegistry::stop_lost(const store::RunId& run, std::string_view by,
                                            std::string_view reason) {
  const auto found = lost_.find(run);
  if (found == lost_.end()) return std::nullopt;
  found->second.is_stopped = true;
  found->second.by = by;
  found->second.why = reason;
  Error error = found->second.error;
  error.message.append(" The run ends once the store takes records again.");
  return error;
}

std::map<store::RunId, std::string> RunRegistry::lost_reasons() const {
  std::map<store::RunId, std::string> reasons;
  for (const auto& [run, lost] : lost_) reasons.emplace(run, lost.error.code_name());
  return reasons;
}

void RunRegistry::give_back_lost() {
  writer_->run([weak = weak_from_this(), loop = services_.loop.handle(), owner = owner_,
                lost = lost_, on_stranded = on_stranded()](store::StorageBackend& backend) {
    std::vector<GivenBack> given;
    for (const auto& [run, entry] : lost) {
      if (!park_run(backend, run, entry.epoch, entry.error.code_name())) continue;
      const bool has_ended =
          entry.is_stopped &&
          end_left_run(backend, {run, owner, entry.by, entry.why, on_stranded}).ok();
      given.push_back({run, entry.epoch, has_ended});
    }
    loop.post([weak, given = std::move(given)] {
      if (const auto self = weak.lock()) self->gave_back(given);
    });
  });
}

// A run may have been lost again meanwhile, under another epoch, or stopped.
void RunRegistry::gave_back(const std::vector<GivenBack>& runs) {
  for (const GivenBack& given : runs) {
    const auto found = lost_.find(given.run);
    if (found == lost_.end() || found->second.epoch != given.epoch) continue;
    const Lost entry = std::move(found->second);
    lost_.erase(found);
    if (entry.is_stopped && !given.is_stopped) end_stopped(given.run, entry.by, entry.why);
  }
  if (!lost_.empty()) next_try_->start_at(os::Timer::Clock::now() + between_tries);
  if (!runs.empty()) recover();
}

// Before it can be taken over: the store does one thing after another.
void RunRegistry::end_stopped(const store::RunId& run, std::string by, std::string why) {
  writer_->run([run, owner = owner_, by = std::move(by), why = std::move(why),
                on_stranded = on_stranded()](store::StorageBackend& backend) {
    static_cast<void>(end_left_run(backend, {run, owner, by, why, on_stranded}));
  });
}

}  // namespace millrace::run
