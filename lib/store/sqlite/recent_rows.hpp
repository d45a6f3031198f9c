// The rows of the table `recent`: their checksum, and what is left of those that do not fit it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/sqlite/recent_pages.hpp"
#include "store/types.hpp"

namespace millrace::store::sqlite {

// Where a page begins.
struct PagePlace {
  std::int64_t row = 0;
  std::size_t at = 0;  // in the row
  auto operator<=>(const PagePlace&) const = default;
};

struct FoundPage {
  PagePlace place;
  std::int64_t run = 0;
  PlacedPage placed;
  bool is_whole = true;  // fits its checksum, or is in a row that does
};

// Pages may be missing there, of which it is not known whose they were.
struct MissingPages {
  PagePlace place;
  std::optional<std::int64_t> lane{};  // nothing: of all
};

// A run that may have pages in a damaged row.
struct RunAtWork {
  RunId id;
  std::uint64_t last = 0;  // of its records before the row
};
using RunsAtWork = std::map<std::int64_t, RunAtWork>;

// What the table has, in the order of its rows.
struct FoundPages {
  std::vector<FoundPage> pages;
  std::vector<MissingPages> missing;
  std::int64_t last_row = 0;
  // The file's blocks under the table can be neither read nor freed.
  bool is_broken = false;
  std::optional<Error> damage{};  // the first one

  // Of these runs, those that may lack pages and have nothing behind them, so that it does not
  // show.
  [[nodiscard]] std::vector<std::int64_t> lacking(const RunsAtWork& runs) const;
};

std::uint32_t checksum_of_row(std::int64_t number, std::string_view row);

// Calls `each` for the pages of a row. False where the row is damaged.
bool read_row(std::int64_t number, std::uint32_t checksum, std::string_view row,
              const std::function<void(const RecentReader& page, std::size_t at)>& each);

// Adds the pages of a damaged row that fit their own checksums, those whose run is known although
// they do not, and the last place where it is neither.
void salvage_row(std::int64_t number, std::string_view row, const RunsAtWork& runs,
                 FoundPages& found);

Error damaged_row(std::int64_t number);

}  // namespace millrace::store::sqlite
