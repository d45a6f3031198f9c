// Pages that are in the file and not yet in the journals of their runs.
#include <map>
#include <utility>

#include "journal/checksum.hpp"
#include "store/sqlite/backend_impl.hpp"

namespace millrace::store::sqlite {
namespace {

std::uint32_t checksum_of_row(std::int64_t number, std::string_view row) {
  std::string place;
  journal::append_varint(place, static_cast<std::uint64_t>(number));
  return journal::crc32c(row, journal::crc32c(place));
}

// Calls `each` for the pages of a row (n, crc, pages). False where the row is damaged.
bool read_row(const Rows& row, const std::function<void(const RecentReader& page)>& each) {
  const std::string_view bytes = row.view(2);
  if (checksum_of_row(row.number(0), bytes) != static_cast<std::uint32_t>(row.number(1))) {
    return false;
  }
  RecentReader pages(bytes);
  while (pages.next()) each(pages);
  return pages.ok();
}

Error damaged_row(std::int64_t number) {
  return make_error(Errc::store_damaged,
                    "The recent pages " + std::to_string(number) + " are damaged.");
}

}  // namespace

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

// Writes the recent pages of this commit, and removes the rows whose pages are all in journals.
void Backend::end_recent_commit() {
  const std::int64_t commit = recent_.commit();
  const RecentPages::Rows rows = recent_.end_commit();
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    if (rows[lane].empty()) continue;
    is_recent_changed_ = true;
    const std::int64_t number = commit * recent_lanes + static_cast<std::int64_t>(lane);
    database_.run("INSERT INTO recent(n, crc, pages) VALUES(?1, ?2, ?3)", number,
                  checksum_of_row(number, rows[lane]), Bytes{rows[lane]});
  }
  if (const auto before = recent_.take_removable()) {
    database_.run("DELETE FROM recent WHERE n<?1", *before * recent_lanes);
  }
}

// The rows that may have pages of a run.
Rows Backend::lane_rows(std::int64_t run) {
  return database_.rows("SELECT n, crc, pages FROM recent WHERE n%?2=?1 ORDER BY n", lane_of(run),
                        recent_lanes);
}

std::uint64_t Backend::recent_last(std::int64_t run) {
  if (!options_.read_only && is_recent_known_) return recent_.last_of(run);
  std::uint64_t last = 0;
  Rows rows = lane_rows(run);
  while (rows.next()) {
    read_row(rows, [&](const RecentReader& page) {
      if (page.run() == run) last = page.last();
    });
  }
  return last;
}

Result<std::vector<PlacedPage>> Backend::recent_of(std::int64_t run, std::uint64_t after) {
  std::vector<PlacedPage> pages;
  Rows rows = lane_rows(run);
  while (rows.next()) {
    const bool is_whole = read_row(rows, [&](const RecentReader& page) {
      if (page.run() == run && page.last() > after) pages.push_back(page.page());
    });
    if (!is_whole) return damaged_row(rows.number(0));
  }
  return finish(std::move(pages));
}

// A process that was killed left them, or a transaction in which some were taken was undone.
Result<void> Backend::adopt_recent() {
  std::map<std::int64_t, std::vector<PlacedPage>> found;  // by run
  std::vector<std::int64_t> damaged;                      // lanes
  std::int64_t next = 1;
  {
    Rows rows = database_.rows("SELECT n, crc, pages FROM recent ORDER BY n");
    while (rows.next()) {
      next = rows.number(0) / recent_lanes + 1;
      const bool is_whole = read_row(
          rows, [&](const RecentReader& page) { found[page.run()].push_back(page.page()); });
      if (!is_whole) damaged.push_back(rows.number(0) % recent_lanes);
    }
  }
  if (!found.empty() || !damaged.empty()) {
    set_synchronous(true);
    Transaction transaction(database_);
    for (const auto& [run, pages] : found) adopt(run, pages);
    for (const std::int64_t lane : damaged) mark_damaged(lane);
    database_.run("DELETE FROM recent");
    transaction.commit();
  }
  MILLRACE_TRY(finish());
  recent_.begin(next);
  is_recent_known_ = true;
  is_recent_changed_ = false;
  return {};
}

// Some may be in the journal already: their row was still needed for others.
void Backend::adopt(std::int64_t run, const std::vector<PlacedPage>& pages) {
  auto last = static_cast<std::uint64_t>(
      database_.number("SELECT max(last) FROM journal WHERE run=?1", run).value_or(0));
  for (const PlacedPage& placed : pages) {
    // Behind a gap, too: whoever reads it finds that records are missing.
    if (placed.page.last <= last) continue;
    insert_page(run, placed);
    last = placed.page.last;
  }
}

// Which runs had pages in the row is not known: each that was at work may have lost some, and gets
// a page that shows it.
void Backend::mark_damaged(std::int64_t lane) {
  database_.run(
      "INSERT INTO journal(run, last, count, crc, page) SELECT r.no,"
      " 1 + coalesce((SELECT max(j.last) FROM journal j WHERE j.run=r.no), 0), 1, 0, x'00'"
      " FROM runs r WHERE r.root IS NULL AND r.state=?1 AND r.no%?3=?2",
      journal::RunState::running, lane, recent_lanes);
}

Result<void> Backend::each_page(
    const std::function<Result<void>(const RunId& run, const PlacedPage& page)>& call) {
  const Snapshot snapshot(database_);
  std::map<std::int64_t, std::vector<PlacedPage>> recent;
  std::optional<Error> damaged;  // told of behind all that can be read
  {
    Rows rows = database_.rows("SELECT n, crc, pages FROM recent ORDER BY n");
    while (rows.next()) {
      const bool is_whole = read_row(
          rows, [&](const RecentReader& page) { recent[page.run()].push_back(page.page()); });
      if (!is_whole && !damaged) damaged = damaged_row(rows.number(0));
    }
  }
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
  return damaged ? Result<void>(*std::move(damaged)) : Result<void>();
}

}  // namespace millrace::store::sqlite
