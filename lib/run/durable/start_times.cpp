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

void StartTimes::load(store::StorageBackend& backend, const StartRates& rates, Time now) {
  const std::lock_guard lock(mutex_);
  note(rates);
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
  note(rates);
  remember(counted);
  forget(now);
  if (!rates.any()) return counted;
  store::StartLimits& limits = counted.limits;
  store::StartCounts& begun = counted.begun;
  limits.total = rates.total.starts;
  limits.each_principal = rates.each_principal.starts;
  begun.total = count(all_, rates.total, now);
  if (limits.each_principal > 0) {
    for (const auto& [principal, times] : principals_) {
      begun.principals[principal] = count(times, rates.each_principal, now);
    }
  }
  for (const auto& [name, rate] : rates.names) {
    limits.names[name] = rate.starts;
    begun.names[name] = count_of({name}, rate, now);
  }
  for (const StartRates::Shared& shared : rates.shared) {
    limits.shared.push_back({shared.names, shared.rate.starts});
    begun.shared.push_back(count_of(shared.names, shared.rate, now));
  }
  return counted;
}

void StartTimes::count_by(const StartRates& rates) {
  const std::lock_guard lock(mutex_);
  note(rates);
}

bool StartTimes::any() const {
  const std::lock_guard lock(mutex_);
  return all_for_.count() > 0 || principals_for_.count() > 0 || !names_for_.empty();
}

// The store is to remember what the rates of all environments count.
void StartTimes::remember(store::CountedStarts& counted) const {
  counted.longest = std::max(all_for_, principals_for_);
  counted.is_of_all_names = counted.longest.count() > 0;
  for (const auto& [name, counted_for] : names_for_) {
    counted.longest = std::max(counted.longest, counted_for);
    counted.of_names.insert(name);
  }
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

std::size_t StartTimes::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t size = all_.size();
  for (const auto& [name, times] : names_) size += times.size();
  for (const auto& [principal, times] : principals_) size += times.size();
  return size;
}

// What a rate counts that none did before may be in the store.
void StartTimes::note(const StartRates& rates) {
  const auto keep = [this](std::chrono::milliseconds& counted_for, const StartRate& rate) {
    if (rate.starts == 0 || rate.per <= counted_for) return;
    counted_for = rate.per;
    is_loaded_ = false;
  };
  keep(all_for_, rates.total);
  keep(principals_for_, rates.each_principal);
  for (const auto& [name, rate] : rates.names) keep(names_for_[name], rate);
  for (const auto& [names, rate] : rates.shared) {
    for (const std::string& name : names) keep(names_for_[name], rate);
  }
}

// They do not count where no rate counts them yet.
void StartTimes::add(const std::string& name, const std::string& principal, Time at) {
  if (all_for_.count() > 0) all_.push_back(at);
  if (principals_for_.count() > 0) principals_[principal].push_back(at);
  if (names_for_.contains(name)) names_[name].push_back(at);
}

void StartTimes::forget(Time now) {
  const auto drop = [now](Times& times, std::chrono::milliseconds counted_for) {
    while (!times.empty() && times.front() + counted_for <= now) times.pop_front();
  };
  drop(all_, all_for_);
  for (auto& [principal, times] : principals_) drop(times, principals_for_);
  for (auto& [name, times] : names_) drop(times, names_for_.find(name)->second);
  for (TimesOf* times_of : {&names_, &principals_}) {
    std::erase_if(*times_of, [](const auto& entry) { return entry.second.empty(); });
  }
}

}  // namespace millrace::run
