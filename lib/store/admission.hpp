// Which of the runs that wait may begin: how many are at work at once, and whose turn it is.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/types.hpp"

namespace millrace::store {

// How many runs may be at work at once; 0 is no limit. Runs that wait for somebody, sleep or queue
// do not count.
struct StartLimits {
  std::size_t total = 0;
  std::size_t each_principal = 0;
  std::map<std::string, std::size_t, std::less<>> names;
  // Names that share what is limited, as the key of a provider.
  struct Shared {
    std::vector<std::string> names;
    std::size_t most = 0;
  };
  std::vector<Shared> shared;

  [[nodiscard]] bool any() const {
    return total > 0 || each_principal > 0 || !names.empty() || !shared.empty();
  }
};

// Runs at work, without those that work for another run.
struct WorkCount {
  std::string name;
  std::string principal;
  std::size_t runs = 0;
};

// Runs that count against limits, by what the limits are of.
struct StartCounts {
  std::size_t total = 0;
  std::map<std::string, std::size_t, std::less<>> names;
  std::map<std::string, std::size_t, std::less<>> principals;
  std::vector<std::size_t> shared;  // one for each of the limits
};

// How many runs may begin in a time, and how many have begun in it.
struct CountedStarts {
  StartLimits limits;
  StartCounts begun;
  std::chrono::milliseconds longest{0};  // how long starts count
  // Whose starts count for any rate of the process: those of all names, or of these.
  bool is_of_all_names = true;
  std::set<std::string, std::less<>> of_names = {};
};

// The longest time of a rate.
inline constexpr std::chrono::milliseconds longest_rate{std::chrono::hours{24}};

// A run that began, as rates count it.
struct BegunRun {
  std::string name;
  std::string principal;
  std::chrono::milliseconds age{0};
};

// Whether the run was at work before, in this process or another one.
inline bool was_at_work(const RunRow& row) {
  return row.epoch > 0;
}

// Whether rates count what was taken over: once for each run, and none that works for another one.
inline bool is_start(const Claim& claim) {
  return claim.run.epoch == 1 && claim.run.run.lane != Lane::inner;
}

// What a store remembers of the claims: the starts that rates count.
std::vector<NewRun> remembered_starts(const std::vector<Claim>& claims, const CountedStarts& rates);

// Which runs are to be taken over.
struct ClaimRequest {
  std::vector<std::string> names;
  std::string owner;
  std::size_t most = 0;
  StartLimits limits;
  CountedStarts rates = {};
};

// Of one claim: counts the runs at work, and those that it lets begin.
// Lifetime: the limits outlive it.
class Admission {
 public:
  Admission(const StartLimits& limits, const std::vector<WorkCount>& at_work,
            const CountedStarts& rates);
  Admission(const StartLimits& limits, const std::vector<WorkCount>& at_work);

  // Rates are for starts: a run that was at work before waits for none, as it would wait for its
  // own start.
  enum class Turn : std::uint8_t { start, again };

  // "" where a run of this name and principal may begin, else the limit that it waits for:
  // "runtime", "name", "provider_key" or "principal", or that with "_rate" for a rate.
  [[nodiscard]] std::string_view hindrance(std::string_view name, std::string_view principal,
                                           Turn turn = Turn::start) const;
  // The same for runs of the name, whosever they are.
  [[nodiscard]] std::string_view hindrance_of_name(std::string_view name,
                                                   Turn turn = Turn::start) const;
  [[nodiscard]] std::vector<std::string> full_principals(Turn turn = Turn::start) const;
  void begin(std::string_view name, std::string_view principal, Turn turn = Turn::start);

 private:
  // What reports call the limits.
  struct Words {
    std::string_view runtime;
    std::string_view name;
    std::string_view provider_key;
    std::string_view principal;
  };
  struct Tally {
    const StartLimits& limits;
    StartCounts counts;
    Words words;
  };
  static std::string_view hindrance_of_name(const Tally& tally, std::string_view name);
  static std::string_view hindrance_of_principal(const Tally& tally, std::string_view principal);
  static void count(Tally& tally, std::string_view name, std::string_view principal,
                    std::size_t runs);

  // Those that count for the turn.
  static std::size_t tallies_of(Turn turn) { return turn == Turn::start ? 2 : 1; }

  std::array<Tally, 2> tallies_;  // of runs at work, and of starts
};

// Whose turn it is. Of eight runs that begin while all lanes wait, five are of the first lane, two
// of the second and one of the third: none waits for ever.
class LaneTurns {
 public:
  // Lanes with limits, in the order in which the next run is looked for.
  [[nodiscard]] std::array<Lane, 3> order() const;
  void next() { ++turn_; }

 private:
  std::size_t turn_ = 0;
};

// Gives the runs of a claim one after the other.
// Lifetime: request and turns outlive it.
class ClaimOrder {
 public:
  // Runs that are due and have no owner.
  struct Wanted {
    Lane lane = Lane::normal;
    std::vector<std::string> names;
    std::vector<std::string> without_principals;
    std::size_t most = 0;
    // Of these only runs that were at work before.
    std::vector<std::string> again_names = {};
    std::vector<std::string> again_principals = {};
  };
  // Gives what waits longest first, and no run whose thread is busy.
  using Find = std::function<std::vector<RunRow>(const Wanted& wanted)>;

  ClaimOrder(const ClaimRequest& request, const std::vector<WorkCount>& at_work, LaneTurns& turns,
             Find find);

  // Nothing when no more may begin.
  std::optional<RunRow> next();
  // The run that `next` gave is taken over.
  void begun(const Claim& claim);

 private:
  struct Waiting {
    std::vector<RunRow> rows;  // the longest waiting last
    std::size_t window = 8;    // how many are read next: most claims begin few
    bool is_read = false;      // nothing more is in the store
  };
  std::optional<RunRow> next_of(Lane lane);
  void refill(Waiting& waiting, Lane lane);

  const ClaimRequest& request_;
  Admission admission_;
  LaneTurns& turns_;
  Find find_;
  std::array<Waiting, 4> waiting_;
  std::set<RunId> seen_;
};

inline constexpr std::array lanes{Lane::high, Lane::normal, Lane::low, Lane::inner};
std::string_view name_of(Lane lane);

}  // namespace millrace::store
