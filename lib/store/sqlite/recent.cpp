// Pages that are in the file and not yet in the journals of their runs.
#include <algorithm>
#include <map>
#include <utility>

#include "store/sqlite/backend_impl.hpp"

namespace millrace::store::sqlite {

void Backend::insert_page(std::int64_t run, const PlacedPage& placed) {
  std::optional<Bytes> hash;
  if (!placed.hash.empty()) hash = Bytes{placed.hash};
  database_.run(
      "INSERT INTO journal(run, last, count, crc, page, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6)", run,
      placed.page.last, placed.page.count, placed.checksum, Bytes{placed.page.bytes}, hash);
}

void Backend::settle(std::int64_t run) {
  const std::vector<PlacedPage> pages = recent_.take(run);
  if (pages.empty()) return;
  is_recent_changed_ = true;
  database_.run("SAVEPOINT settle");
  for (const PlacedPage& placed : pages) insert_page(run, placed);
  // A page is there twice: the file is damaged, and what is left of these must not be forgotten by
  // a commit that goes on without them.
  if ((database_.code() & 0xFF) == SQLITE_CONSTRAINT) {
    static_cast<void>(database_.take_error());
    database_.fail(SQLITE_CORRUPT, "a page of a run is there twice");
  }
  database_.run("RELEASE settle");
}

void Backend::settle_all() {
  for (const std::int64_t run : recent_.runs()) settle(run);
  end_recent_commit();
}

void Backend::settle_due() {
  for (const std::int64_t run : recent_.due()) settle(run);
}

// Removes the rows whose pages are all in journals, and writes the recent pages of this commit: in
// this order the new rows take the blocks of the old ones, which had to be overwritten anyhow.
void Backend::end_recent_commit() {
  if (const auto before = recent_.take_removable()) {
    is_recent_changed_ = true;
    database_.run("DELETE FROM recent WHERE n<?1", *before * recent_lanes);
  }
  const std::int64_t commit = recent_.commit();
  const RecentPages::Rows rows = recent_.end_commit();
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    if (rows[lane].empty()) continue;
    is_recent_changed_ = true;
    const std::int64_t number = commit * recent_lanes + static_cast<std::int64_t>(lane);
    database_.run("INSERT INTO recent(n, crc, pages) VALUES(?1, ?2, ?3)", number,
                  checksum_of_row(number, rows[lane]), Bytes{rows[lane]});
  }
}

// The rows that may have pages of a run.
Rows Backend::lane_rows(std::int64_t run) {
  return database_.rows("SELECT n, crc, pages FROM recent WHERE n%?2=?1 ORDER BY n", lane_of(run),
                        recent_lanes);
}

bool Backend::knows_recent() const {
  return !options_.read_only && is_recent_known_;
}

// Brings what a reader knows up to what the file has now. Within the snapshot of what is read.
bool Backend::refresh_index() {
  if (!options_.read_only) return false;
  const auto change = database_.number("PRAGMA data_version");
  if (!database_.ok()) return false;
  if (index_.is_of(change)) return !index_.is_full();
  const auto owner = database_.number("SELECT v FROM meta WHERE k='open_epoch'");
  const auto first = database_.number("SELECT min(n) FROM recent");
  if (database_.ok()) {
    index_.begin(change, owner.value_or(0), first.value_or(index_.seen() + 1));
    Rows rows =
        database_.rows("SELECT n, crc, pages FROM recent WHERE n>?1 ORDER BY n", index_.seen());
    while (!index_.is_full() && rows.next()) {
      const std::int64_t row = rows.number(0);
      const bool is_whole = read_row(row, static_cast<std::uint32_t>(rows.number(1)), rows.view(2),
                                     [&](const RecentReader& page, std::size_t at) {
                                       index_.add(page.run(), {{row, at}, page.last()});
                                     });
      if (!is_whole) index_.add_damaged(row);
      index_.add_row(row);
    }
  }
  if (take_broken_block()) index_.set_broken();
  return database_.ok() && !index_.is_full();
}

std::uint64_t Backend::recent_last(std::int64_t run) {
  if (knows_recent()) return recent_.last_of(run);
  // What failed before is no block of this table.
  if (!database_.ok()) return 0;
  const Snapshot snapshot(database_);
  if (refresh_index()) return index_.last_of(run);
  std::uint64_t last = 0;
  {
    Rows rows = lane_rows(run);
    while (rows.next()) {
      read_row(rows.number(0), static_cast<std::uint32_t>(rows.number(1)), rows.view(2),
               [&](const RecentReader& page, std::size_t /*at*/) {
                 if (page.run() == run) last = page.last();
               });
    }
  }
  // Who reads the pages is given the error.
  take_broken_block();
  return last;
}

Result<std::vector<PlacedPage>> Backend::recent_of(std::int64_t run, std::uint64_t after) {
  std::vector<PlacedPage> pages;
  if (knows_recent()) {
    for (const PlacedPage& placed : recent_.pages_of(run)) {
      if (placed.page.last > after) pages.push_back(placed);
    }
    return pages;
  }
  const Snapshot snapshot(database_);
  if (refresh_index()) return indexed_of(run, after);
  Rows rows = lane_rows(run);
  while (rows.next()) {
    const bool is_whole = read_row(rows.number(0), static_cast<std::uint32_t>(rows.number(1)),
                                   rows.view(2), [&](const RecentReader& page, std::size_t /*at*/) {
                                     if (page.run() == run && page.last() > after)
                                       pages.push_back(page.page());
                                   });
    if (!is_whole) return damaged_row(rows.number(0));
  }
  return finish(std::move(pages));
}

Result<std::vector<PlacedPage>> Backend::indexed_of(std::int64_t run, std::uint64_t after) {
  if (auto damage = index_.damage_of(run)) return *std::move(damage);
  std::vector<PlacedPage> pages;
  for (const RecentIndex::Place& known : index_.places_of(run, after)) {
    Rows rows = database_.rows("SELECT pages FROM recent WHERE n=?1", known.place.row);
    if (!rows.next()) return database_.ok() ? damaged_row(known.place.row) : failure();
    const std::string_view row = rows.view(0);
    RecentReader page(row.substr(std::min(known.place.at, row.size())));
    if (!page.next() || page.run() != run || page.last() != known.last) {
      return damaged_row(known.place.row);
    }
    pages.push_back(page.page());
  }
  return finish(std::move(pages));
}

Result<void> Backend::each_page(
    const std::function<Result<void>(const RunId& run, const PlacedPage& page)>& call) {
  const Snapshot snapshot(database_);
  FoundPages found = find_recent();
  MILLRACE_TRY(finish());
  std::map<std::int64_t, std::vector<PlacedPage>> recent;
  for (FoundPage& page : found.pages) recent[page.run].push_back(std::move(page.placed));
  std::int64_t run = 0;
  RunId id;
  std::uint64_t last = 0;
  const auto call_recent = [&]() -> Result<void> {
    for (const PlacedPage& placed : recent[run]) {
      if (placed.page.last > last) MILLRACE_TRY(call(id, placed));
    }
    return {};
  };
  Rows rows = database_.rows(
      "SELECT r.no, r.id, j.last, j.count, j.page, j.crc, j.hash FROM journal j"
      " JOIN runs r ON r.no=j.run WHERE r.records<>?1 ORDER BY j.run, j.last",
      StoredRecords::removed);
  while (rows.next()) {
    if (rows.number(0) != run) {
      MILLRACE_TRY(call_recent());
      run = rows.number(0);
      id = RunId::of_bytes(rows.view(1));
    }
    const PlacedPage placed{{static_cast<std::uint64_t>(rows.number(2)),
                             static_cast<std::uint64_t>(rows.number(3)), rows.text(4)},
                            static_cast<std::uint32_t>(rows.number(5)),
                            rows.text(6)};
    last = placed.page.last;
    MILLRACE_TRY(call(id, placed));
  }
  MILLRACE_TRY(call_recent());
  // Told of behind all that can be read.
  return found.damage ? Result<void>(*std::move(found.damage)) : Result<void>();
}

}  // namespace millrace::store::sqlite
