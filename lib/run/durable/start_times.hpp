// When runs of a store began, as far as rates count them: its environments count together.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "os/timer.hpp"
#include "store/writer.hpp"

namespace millrace::run {

// So many runs may begin in a time; 0 is no limit.
struct StartRate {
  std::size_t starts = 0;
  std::chrono::milliseconds per{1000};
};

// Rates of what StartLimits has limits of.
struct StartRates {
  StartRate total;
  StartRate each_principal;
  std::map<std::string, StartRate, std::less<>> names;
  struct Shared {
    std::vector<std::string> names;
    StartRate rate;
  };
  std::vector<Shared> shared;

  [[nodiscard]] bool any() const {
    return total.starts > 0 || each_principal.starts > 0 || !names.empty() || !shared.empty();
  }
};

// Thread: any.
class StartTimes {
 public:
  using Time = os::Timer::Clock::time_point;

  // The one of the store.
  static std::shared_ptr<StartTimes> of(const store::Writer& writer);

  // Counts what the store remembers, also of processes before this one. Only the first call does
  // that the store answers, and one with a rate that counts what no other did.
  void load(store::StorageBackend& backend, const StartRates& rates, Time now);
  // Counts for these rates from now on.
  void count_by(const StartRates& rates);
  // Whether any environment has rates.
  [[nodiscard]] bool any() const;
  // What a claim by these rates is limited by, and what the store is to remember of it.
  store::CountedStarts counted(const StartRates& rates, Time now);
  // When the next run may begin that one of the rates holds back now.
  [[nodiscard]] std::optional<Time> next(const StartRates& rates, Time now) const;
  // Runs that work for other runs do not count, nor those that were at work before.
  void add(const std::vector<store::Claim>& claims, Time now);
  // How many times it holds: a start has one for each kind of rate that counts it.
  [[nodiscard]] std::size_t size() const;

 private:
  using Times = std::deque<Time>;  // the oldest first
  using TimesOf = std::map<std::string, Times, std::less<>>;

  static std::size_t count(const Times& times, const StartRate& rate, Time now);
  [[nodiscard]] std::size_t count_of(const std::vector<std::string>& names, const StartRate& rate,
                                     Time now) const;
  [[nodiscard]] Times times_of(const std::vector<std::string>& names) const;
  void note(const StartRates& rates);
  void remember(store::CountedStarts& counted) const;
  void add(const std::string& name, const std::string& principal, Time at);
  void forget(Time now);

  mutable std::mutex mutex_;
  bool is_loaded_ = false;
  Times all_;
  TimesOf names_;
  TimesOf principals_;
  // How long starts count by the rates so far; no time, and they are left out.
  std::chrono::milliseconds all_for_{0};
  std::chrono::milliseconds principals_for_{0};
  std::map<std::string, std::chrono::milliseconds, std::less<>> names_for_;
};

}  // namespace millrace::run
