#include "store/sqlite/recent_index.hpp"

#include <algorithm>
#include <iterator>

namespace millrace::store::sqlite {

void RecentIndex::clear() {
  runs_.clear();
  damaged_.clear();
  count_ = 0;
  seen_ = 0;
  first_row_ = 0;
  is_full_ = false;
}

void RecentIndex::begin(std::optional<std::int64_t> change, std::int64_t owner,
                        std::int64_t first_row) {
  // The next owner may count its rows anew; and what was too much may be gone.
  if (owner != owner_ || (is_full_ && first_row > seen_)) clear();
  change_ = change;
  owner_ = owner;
  is_broken_ = false;
  if (first_row == first_row_) return;
  first_row_ = first_row;
  std::erase_if(damaged_, [&](std::int64_t row) { return row < first_row; });
  for (auto run = runs_.begin(); run != runs_.end();) {
    std::deque<Place>& places = run->second;
    while (!places.empty() && places.front().place.row < first_row) {
      places.pop_front();
      --count_;
    }
    run = places.empty() ? runs_.erase(run) : std::next(run);
  }
}

void RecentIndex::add(std::int64_t run, const Place& place) {
  if (is_full_) return;
  runs_[run].push_back(place);
  if (++count_ <= most_places) return;
  runs_.clear();
  count_ = 0;
  is_full_ = true;
}

void RecentIndex::add_damaged(std::int64_t row) {
  damaged_.push_back(row);
}

std::uint64_t RecentIndex::last_of(std::int64_t run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? 0 : found->second.back().last;
}

std::vector<RecentIndex::Place> RecentIndex::places_of(std::int64_t run,
                                                       std::uint64_t after) const {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return {};
  const auto first =
      std::upper_bound(found->second.begin(), found->second.end(), after,
                       [](std::uint64_t last, const Place& place) { return last < place.last; });
  return {first, found->second.end()};
}

std::optional<Error> RecentIndex::damage_of(std::int64_t run) const {
  for (const std::int64_t row : damaged_) {
    if (lane_of(row) == lane_of(run)) return damaged_row(row);
  }
  if (!is_broken_) return std::nullopt;
  return make_error(Errc::store_damaged, "Not all recent pages can be read.");
}

}  // namespace millrace::store::sqlite
