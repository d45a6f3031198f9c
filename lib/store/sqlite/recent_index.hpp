// Which rows of the table `recent` have pages of a run, as a reader knows it: it parses each row
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/sqlite/recent_rows.hpp"

namespace millrace::store::sqlite {

// Rows are not changed while the store has the same owner: there are more, and the oldest go.
// Thread: any, one at a time.
class RecentIndex {
 public:
  // Some 8 MiB; an owner keeps pages of 16 MiB, which are fewer. Beyond it nothing is kept.
  static constexpr std::size_t most_places = std::size_t{1} << 18U;

  struct Place {
    PagePlace place;
    std::uint64_t last = 0;  // record of the page
  };

  // Whether it is as of this change of the file.
  [[nodiscard]] bool is_of(std::optional<std::int64_t> change) const {
    return change.has_value() && change_ == change;
  }
  // The file has this owner and this first row now; what is not so any more is forgotten.
  void begin(std::optional<std::int64_t> change, std::int64_t owner, std::int64_t first_row);
  // Rows before it need not be read, or were.
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  void add(std::int64_t run, const Place& place);
  void add_row(std::int64_t row) { seen_ = row; }
  // The row is damaged: what it has is not known.
  void add_damaged(std::int64_t row);
  // Rows cannot be read, of whatever lane.
  void set_broken() { is_broken_ = true; }

  // There are too many rows; who asks reads them.
  [[nodiscard]] bool is_full() const { return is_full_; }
  [[nodiscard]] std::uint64_t last_of(std::int64_t run) const;
  [[nodiscard]] std::vector<Place> places_of(std::int64_t run, std::uint64_t after) const;
  // What may have lost pages of the run.
  [[nodiscard]] std::optional<Error> damage_of(std::int64_t run) const;

 private:
  void clear();

  std::unordered_map<std::int64_t, std::deque<Place>> runs_;
  std::vector<std::int64_t> damaged_;  // rows
  std::optional<std::int64_t> change_;
  std::int64_t owner_ = -1;
  std::int64_t first_row_ = 0;
  std::int64_t seen_ = 0;
  std::size_t count_ = 0;
  bool is_broken_ = false;
  bool is_full_ = false;
};

}  // namespace millrace::store::sqlite
