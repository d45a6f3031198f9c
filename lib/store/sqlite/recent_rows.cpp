#include "store/sqlite/recent_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "journal/checksum.hpp"
#include "journal/wire.hpp"

namespace millrace::store::sqlite {
namespace {

bool fits(const PlacedPage& placed, const RunAtWork& run) {
  return journal::checksum_of(placed.page.bytes, run.id.bytes(), placed.page.last,
                              placed.page.count) == placed.checksum;
}

// What a damaged row has at a place.
struct Candidate {
  std::int64_t run = 0;
  PlacedPage placed;
  std::size_t end = 0;
};

class Salvage {
 public:
  Salvage(std::string_view row, const RunsAtWork& runs) : row_(row), runs_(runs) {}

  // The page that begins there, if it fits its checksum.
  [[nodiscard]] std::optional<Candidate> whole_at(std::size_t at) const {
    auto found = read_at(at);
    if (!found) return std::nullopt;
    const auto run = runs_.find(found->run);
    if (run == runs_.end() || !fits(found->placed, run->second)) return std::nullopt;
    return found;
  }

  // The page that begins there and is whole but for the number of its run.
  [[nodiscard]] std::optional<Candidate> of_another_run(std::size_t at) const {
    auto found = read_at(at, true);
    if (!found) return std::nullopt;
    for (const auto& [number, run] : runs_) {
      if (!fits(found->placed, run)) continue;
      found->run = number;
      return found;
    }
    return std::nullopt;
  }

  // The damaged page that begins there, where what is before and behind its bytes is whole: it
  // follows the records of its run, and another page or the end of the row follows it.
  [[nodiscard]] std::optional<Candidate> damaged_at(std::size_t at) const {
    auto found = read_at(at);
    if (!found) return std::nullopt;
    const auto run = runs_.find(found->run);
    const journal::StoredPage& page = found->placed.page;
    if (run == runs_.end() || page.count == 0 || page.last - page.count != run->second.last) {
      return std::nullopt;
    }
    if (found->end != row_.size() && !whole_at(found->end)) return std::nullopt;
    return found;
  }

  [[nodiscard]] std::size_t next_whole(std::size_t at) const {
    while (at < row_.size() && !whole_at(at)) ++at;
    return at;
  }

 private:
  [[nodiscard]] std::optional<Candidate> read_at(std::size_t at, bool is_any_run = false) const {
    RecentReader reader(row_.substr(at));
    if (!reader.next()) return std::nullopt;
    // Before anything is copied: next_whole() looks at each place of a row.
    if (!is_any_run && !runs_.contains(reader.run())) return std::nullopt;
    return Candidate{reader.run(), reader.page(), at + reader.end()};
  }

  std::string_view row_;
  const RunsAtWork& runs_;
};

}  // namespace

std::vector<std::int64_t> FoundPages::lacking(const RunsAtWork& runs) const {
  std::map<std::int64_t, PagePlace> ends;
  for (const FoundPage& page : pages) {
    if (page.is_whole) ends[page.run] = std::max(ends[page.run], page.place);
  }
  std::vector<std::int64_t> lacking;
  for (const auto& [run, at_work] : runs) {
    const PagePlace end = ends[run];
    const bool may_lack = std::any_of(
        missing.begin(), missing.end(), [&, lane = lane_of(run)](const MissingPages& missed) {
          return missed.lane.value_or(lane) == lane && end <= missed.place;
        });
    if (may_lack) lacking.push_back(run);
  }
  return lacking;
}

std::uint32_t checksum_of_row(std::int64_t number, std::string_view row) {
  std::string place;
  journal::append_varint(place, static_cast<std::uint64_t>(number));
  return journal::crc32c(row, journal::crc32c(place));
}

bool read_row(std::int64_t number, std::uint32_t checksum, std::string_view row,
              const std::function<void(const RecentReader& page, std::size_t at)>& each) {
  if (checksum_of_row(number, row) != checksum) return false;
  RecentReader pages(row);
  for (std::size_t at = 0; pages.next(); at = pages.end()) each(pages, at);
  return pages.ok();
}

void salvage_row(std::int64_t number, std::string_view row, const RunsAtWork& runs,
                 FoundPages& found) {
  const Salvage salvage(row, runs);
  std::optional<MissingPages> missing;
  for (std::size_t at = 0; at < row.size();) {
    auto page = salvage.whole_at(at);
    if (!page) page = salvage.of_another_run(at);
    const bool is_whole = page.has_value();
    if (!page) page = salvage.damaged_at(at);
    if (page) {
      found.pages.push_back({{number, at}, page->run, std::move(page->placed), is_whole});
      at = page->end;
      continue;
    }
    // The last place: what is behind it is behind the others, too.
    missing = MissingPages{{number, at}, lane_of(number)};
    at = salvage.next_whole(at + 1);
  }
  if (missing) found.missing.push_back(*missing);
}

Error damaged_row(std::int64_t number) {
  return make_error(Errc::store_damaged,
                    "The recent pages " + std::to_string(number) + " are damaged.");
}

}  // namespace millrace::store::sqlite
