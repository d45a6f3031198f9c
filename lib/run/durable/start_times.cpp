#include "run/durable/start_times.hpp"

#include <algorithm>

namespace millrace::run {

std::shared_ptr<StartTimes> StartTimes::of(const store::Writer& writer) {
  struct Known {
    std::mutex mutex;
    std::map<const store::Writer*, std::weak_ptr<StartTimes>> times;
  };
  // Never destroyed: environments may open stores while the process ends.
  static Known& known = *new Known;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.times, [](const auto& entry) { return entry.second.expired(); });
  auto times = known.times[&writer].lock();
  if (!times) known.times[&writer] = times = std::make_shared<StartTimes>();
  return times;
}

void StartTimes::load(store::StorageBackend& backend, Time now) {
  const std::lock_guard lock(mutex_);
  if (is_loaded_) return;
  auto begun = backend.starts();
  if (!begun) return;
  is_loaded_ = true;
  // The store has what was added before an earlier call failed, too; a backend without a memory
  // has nothing.
  if (begun.value().empty()) return;
  all_.clear();
  names_.clear();
  principals_.clear();
  std::stable_sort(
      begun.value().begin(), begun.value().end(),
      [](const store::BegunRun& a, const store::BegunRun& b) { return a.age > b.age; });
  for (const store::BegunRun& run : begun.value()) add(run.name, run.principal, now - run.age);
}

store::CountedStarts StartTimes::counted(const StartRates& rates, Time now) {
  const std::lock_guard lock(mutex_);
  store::CountedStarts counted;
  if (!rates.any()) return counted;
  auto& [limits, begun, longest] = counted;
  const auto note = [this](const StartRate& rate) { longest_ = std::max(longest_, rate.per); };
  limits.total = rates.total.starts;
  limits.each_principal = rates.each_principal.starts;
  if (limits.total > 0) note(rates.total);
  if (limits.each_principal > 0) note(rates.each_principal);
  begun.total = count(all_, rates.total, now);
  if (limits.each_principal > 0) {
    for (const auto& [principal, times] : principals_) {
      begun.principals[principal] = count(times, rates.each_principal, now);
    }
  }
  for (const auto& [name, rate] : rates.names) {
    note(rate);
    limits.names[name] = rate.starts;
    begun.names[name] = count_of({name}, rate, now);
  }
  for (const StartRates::Shared& shared : rates.shared) {
    note(shared.rate);
    limits.shared.push_back({shared.names, shared.rate.starts});
    begun.shared.push_back(count_of(shared.names, shared.rate, now));
  }
  longest = longest_;
  forget(now);
  return counted;
}

std::optional<StartTimes::Time> StartTimes::next(const StartRates& rates, Time now) const {
  const std::lock_guard lock(mutex_);
  std::optional<Time> next;
  const auto look = [&](const Times& times, const StartRate& rate) {
    if (rate.starts == 0 || count(times, rate, now) < rate.starts) return;
    const Time free = *(times.end() - static_cast<std::ptrdiff_t>(rate.starts)) + rate.per;
    next = next ? std::min(*next, free) : free;
  };
  const auto look_at = [&](const std::vector<std::string>& names, const StartRate& rate) {
    if (count_of(names, rate, now) >= rate.starts) look(times_of(names), rate);
  };
  look(all_, rates.total);
  // No other run begins before.
  if (next) return next;
  for (const auto& [principal, times] : principals_) look(times, rates.each_principal);
  for (const auto& [name, rate] : rates.names) look_at({name}, rate);
  for (const StartRates::Shared& shared : rates.shared) look_at(shared.names, shared.rate);
  return next;
}

void StartTimes::add(const std::vector<store::Claim>& claims, Time now) {
  const std::lock_guard lock(mutex_);
  forget(now);
  // They do not count where there was no rate yet.
  if (longest_.count() == 0) return;
  for (const store::Claim& claim : claims) {
    const store::NewRun& run = claim.run.run;
    if (store::is_start(claim)) add(run.name, run.principal, now);
  }
}

std::size_t StartTimes::count(const Times& times, const StartRate& rate, Time now) {
  const auto first = std::upper_bound(times.begin(), times.end(), now - rate.per);
  return static_cast<std::size_t>(times.end() - first);
}

std::size_t StartTimes::count_of(const std::vector<std::string>& names, const StartRate& rate,
                                 Time now) const {
  std::size_t counted = 0;
  for (const std::string& name : names) {
    const auto found = names_.find(name);
    if (found != names_.end()) counted += count(found->second, rate, now);
  }
  return counted;
}

StartTimes::Times StartTimes::times_of(const std::vector<std::string>& names) const {
  Times times;
  for (const std::string& name : names) {
    const auto found = names_.find(name);
    if (found == names_.end()) continue;
    times.insert(times.end(), found->second.begin(), found->second.end());
  }
  if (names.size() > 1) std::sort(times.begin(), times.end());
  return times;
}

void StartTimes::add(const std::string& name, const std::string& principal, Time at) {
  all_.push_back(at);
  names_[name].push_back(at);
  principals_[principal].push_back(at);
}

void StartTimes::forget(Time now) {
  const auto drop = [&](Times& times) {
    while (!times.empty() && times.front() + longest_ <= now) times.pop_front();
  };
  drop(all_);
  for (TimesOf* times_of : {&names_, &principals_}) {
    for (auto& [key, times] : *times_of) drop(times);
    std::erase_if(*times_of, [](const auto& entry) { return entry.second.empty(); });
  }
}

}  // namespace millrace::run
