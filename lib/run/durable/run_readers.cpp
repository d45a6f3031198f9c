// Readers of runs that another environment of this process works on: its environment counts them as
// its own.
#include <limits>
#include <utility>
#include <vector>

#include "run/durable/run_registry.hpp"

namespace millrace::run {

// The hub is not at work here, or not for now.
void RunRegistry::report_readers(const store::RunId& run, const std::shared_ptr<RunHub>& hub) {
  run_owners::join(*writer_, owner_, services_.loop, weak_from_this());
  hub->forget_elsewhere();
  hub->on_readers([weak = weak_from_this(), run](bool any) {
    if (const auto self = weak.lock()) self->send_readers(run, any);
  });
}

void RunRegistry::send_readers(const store::RunId& run, bool any) {
  at_owner(run, [run, any, from = owner_, notice = ++notices_](RunRegistry& owner) {
    const auto log = owner.logs_.find(run);
    if (from == owner.owner_ || log == owner.logs_.end()) return;
    log->second->hub()->count_elsewhere(from, any, notice);
  });
}

// A run that comes from another environment may have had readers before.
void RunRegistry::ask_for_readers(const store::RunId& run) {
  run_owners::post_others(*writer_, owner_, [run](RunRegistry& other) {
    const auto found = other.waiting_hubs_.find(run);
    const auto hub = found == other.waiting_hubs_.end() ? nullptr : found->second.lock();
    if (hub && hub->is_read_here()) other.send_readers(run, true);
  });
}

void RunRegistry::readers_left(const store::RunId& run) {
  if (works_on(run)) return;
  at_owner(run, [run, from = owner_, notice = ++notices_](RunRegistry& owner) {
    if (from != owner.owner_) owner.left_elsewhere(run, from, notice);
  });
}

void RunRegistry::left_elsewhere(const store::RunId& run, const std::string& environment,
                                 std::uint64_t notice) {
  const auto log = logs_.find(run);
  if (log == logs_.end()) return;
  const auto hub = log->second->hub();
  hub->count_elsewhere(environment, false, notice);
  if (hub->stops_when_left() && !hub->is_read()) stop(run, {}, "reader_left");
}

// The environment has ended, and its readers with it, which may have gone silent before.
void RunRegistry::forget_readers(const std::string& environment) {
  constexpr auto last_notice = std::numeric_limits<std::uint64_t>::max();
  std::vector<store::RunId> left;
  for (const auto& [run, log] : logs_) {
    if (log->hub()->was_read_in(environment)) left.push_back(run);
  }
  for (const store::RunId& run : left) left_elsewhere(run, environment, last_notice);
}

}  // namespace millrace::run
