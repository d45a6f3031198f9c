#include "store/admission.hpp"

#include <algorithm>
#include <utility>

namespace millrace::store {
namespace {

std::size_t count_in(const std::map<std::string, std::size_t, std::less<>>& counts,
                     std::string_view key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

bool is_of(const StartLimits::Shared& shared, std::string_view name) {
  return std::find(shared.names.begin(), shared.names.end(), name) != shared.names.end();
}

const CountedStarts no_rates;

Admission::Turn turn_of(const RunRow& row) {
  return was_at_work(row) ? Admission::Turn::again : Admission::Turn::start;
}

}  // namespace

Admission::Admission(const StartLimits& limits, const std::vector<WorkCount>& at_work,
                     const CountedStarts& rates)
    : tallies_{Tally{limits, {}, {"runtime", "name", "provider_key", "principal"}},
               Tally{rates.limits,
                     rates.begun,
                     {"runtime_rate", "name_rate", "provider_key_rate", "principal_rate"}}} {
  for (Tally& tally : tallies_) tally.counts.shared.resize(tally.limits.shared.size());
  for (const WorkCount& work : at_work) {
    count(tallies_.front(), work.name, work.principal, work.runs);
  }
}

Admission::Admission(const StartLimits& limits, const std::vector<WorkCount>& at_work)
    : Admission(limits, at_work, no_rates) {}

std::string_view Admission::hindrance_of_name(const Tally& tally, std::string_view name) {
  const auto& [limits, counts, words] = tally;
  if (limits.total > 0 && counts.total >= limits.total) return words.runtime;
  const auto of_name = limits.names.find(name);
  if (of_name != limits.names.end() && count_in(counts.names, name) >= of_name->second) {
    return words.name;
  }
  for (std::size_t at = 0; at < limits.shared.size(); ++at) {
    const StartLimits::Shared& shared = limits.shared[at];
    if (counts.shared[at] >= shared.most && is_of(shared, name)) return words.provider_key;
  }
  return {};
}

std::string_view Admission::hindrance_of_principal(const Tally& tally, std::string_view principal) {
  const std::size_t most = tally.limits.each_principal;
  const bool is_full = most > 0 && count_in(tally.counts.principals, principal) >= most;
  return is_full ? tally.words.principal : std::string_view();
}

std::string_view Admission::hindrance_of_name(std::string_view name, Turn turn) const {
  for (std::size_t at = 0; at < tallies_of(turn); ++at) {
    if (const auto found = hindrance_of_name(tallies_.at(at), name); !found.empty()) return found;
  }
  return {};
}

std::string_view Admission::hindrance(std::string_view name, std::string_view principal,
                                      Turn turn) const {
  if (const std::string_view found = hindrance_of_name(name, turn); !found.empty()) return found;
  for (std::size_t at = 0; at < tallies_of(turn); ++at) {
    const auto found = hindrance_of_principal(tallies_.at(at), principal);
    if (!found.empty()) return found;
  }
  return {};
}

std::vector<std::string> Admission::full_principals(Turn turn) const {
  std::vector<std::string> full;
  for (std::size_t at = 0; at < tallies_of(turn); ++at) {
    const Tally& tally = tallies_.at(at);
    for (const auto& [principal, runs] : tally.counts.principals) {
      if (!hindrance_of_principal(tally, principal).empty()) full.push_back(principal);
    }
  }
  return full;
}

void Admission::count(Tally& tally, std::string_view name, std::string_view principal,
                      std::size_t runs) {
  tally.counts.total += runs;
  tally.counts.names[std::string(name)] += runs;
  tally.counts.principals[std::string(principal)] += runs;
  for (std::size_t at = 0; at < tally.limits.shared.size(); ++at) {
    if (is_of(tally.limits.shared[at], name)) tally.counts.shared[at] += runs;
  }
}

void Admission::begin(std::string_view name, std::string_view principal, Turn turn) {
  for (std::size_t at = 0; at < tallies_of(turn); ++at) {
    count(tallies_.at(at), name, principal, 1);
  }
}

std::vector<NewRun> remembered_starts(const std::vector<Claim>& claims,
                                      const CountedStarts& rates) {
  std::vector<NewRun> starts;
  if (rates.longest.count() == 0) return starts;
  for (const Claim& claim : claims) {
    const NewRun& run = claim.run.run;
    const bool counts = rates.is_of_all_names || rates.of_names.contains(run.name);
    if (counts && is_start(claim)) starts.push_back(run);
  }
  return starts;
}

std::array<Lane, 3> LaneTurns::order() const {
  // The rest of a row is for lanes without a queue.
  static constexpr std::array high{Lane::high, Lane::normal, Lane::low};
  static constexpr std::array normal{Lane::normal, Lane::high, Lane::low};
  static constexpr std::array low{Lane::low, Lane::high, Lane::normal};
  static constexpr std::array turns{high, high, normal, high, low, high, normal, high};
  return turns.at(turn_ % turns.size());
}

ClaimOrder::ClaimOrder(const ClaimRequest& request, const std::vector<WorkCount>& at_work,
                       LaneTurns& turns, Find find)
    : request_(request),
      admission_(request.limits, at_work, request.rates),
      turns_(turns),
      find_(std::move(find)) {}

std::optional<RunRow> ClaimOrder::next() {
  if (auto row = next_of(Lane::inner)) return row;
  for (const Lane lane : turns_.order()) {
    if (auto row = next_of(lane)) return row;
  }
  return std::nullopt;
}

std::optional<RunRow> ClaimOrder::next_of(Lane lane) {
  Waiting& waiting = waiting_.at(static_cast<std::size_t>(lane));
  while (true) {
    while (waiting.rows.empty() && !waiting.is_read) refill(waiting, lane);
    if (waiting.rows.empty()) return std::nullopt;
    RunRow row = std::move(waiting.rows.back());
    waiting.rows.pop_back();
    const bool may_begin =
        lane == Lane::inner ||
        admission_.hindrance(row.run.name, row.run.principal, turn_of(row)).empty();
    if (may_begin) return row;
  }
}

// What is left out here is full now, and is not found again.
void ClaimOrder::refill(Waiting& waiting, Lane lane) {
  Wanted wanted{lane, request_.names, {}, std::min(request_.most, waiting.window)};
  waiting.window *= 4;
  if (lane != Lane::inner) {
    std::erase_if(wanted.names, [this](const std::string& name) {
      return !admission_.hindrance_of_name(name, Admission::Turn::again).empty();
    });
    for (const std::string& name : wanted.names) {
      if (!admission_.hindrance_of_name(name).empty()) wanted.again_names.push_back(name);
    }
    wanted.without_principals = admission_.full_principals(Admission::Turn::again);
    wanted.again_principals = admission_.full_principals();
  }
  if (!wanted.names.empty()) waiting.rows = find_(wanted);
  waiting.is_read = waiting.rows.size() < wanted.most;
  std::erase_if(waiting.rows,
                [this](const RunRow& row) { return !seen_.insert(row.run.id).second; });
  std::reverse(waiting.rows.begin(), waiting.rows.end());
}

void ClaimOrder::begun(const Claim& claim) {
  const NewRun& run = claim.run.run;
  if (run.lane == Lane::inner) return;
  admission_.begin(run.name, run.principal,
                   is_start(claim) ? Admission::Turn::start : Admission::Turn::again);
  turns_.next();
}

std::string_view name_of(Lane lane) {
  static constexpr std::array<std::string_view, 4> names{"high", "normal", "low", "inner"};
  return names.at(static_cast<std::size_t>(lane));
}

}  // namespace millrace::store
