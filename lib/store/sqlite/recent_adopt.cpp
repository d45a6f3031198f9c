// Recent pages that this process did not write, or of which it no longer knows what was undone.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/schema.hpp"

namespace millrace::store::sqlite {
namespace {

// A block of a tree or of a long row has bytes that cannot be.
bool is_broken_block(int code) {
  return (code & 0xFF) == SQLITE_CORRUPT || code == SQLITE_IOERR_SHORT_READ;
}

}  // namespace

bool Backend::take_broken_block() {
  if (!is_broken_block(database_.code())) return false;
  static_cast<void>(database_.take_error());
  return true;
}

RunsAtWork Backend::runs_at_work() {
  RunsAtWork runs;
  Rows rows = database_.rows(
      "SELECT r.no, r.id, coalesce((SELECT max(j.last) FROM journal j WHERE j.run=r.no), 0)"
      " FROM runs r WHERE r.root IS NULL AND r.state=?1",
      journal::RunState::running);
  while (rows.next()) {
    runs[rows.number(0)] = {RunId::of_bytes(rows.view(1)),
                            static_cast<std::uint64_t>(rows.number(2))};
  }
  return runs;
}

// Adds what a query gives; false where a block of the table cannot be read.
bool Backend::find_pages(Rows rows, FoundPages& found, std::vector<std::int64_t>& damaged) {
  while (rows.next()) {
    const std::int64_t row = rows.number(0);
    found.last_row = std::max(found.last_row, row);
    const bool is_whole = read_row(row, static_cast<std::uint32_t>(rows.number(1)), rows.view(2),
                                   [&](const RecentReader& page, std::size_t at) {
                                     found.pages.push_back({{row, at}, page.run(), page.page()});
                                   });
    if (!is_whole) damaged.push_back(row);
  }
  return !take_broken_block();
}

FoundPages Backend::find_recent() {
  FoundPages found;
  std::vector<std::int64_t> damaged;
  if (!find_pages(database_.rows("SELECT n, crc, pages FROM recent ORDER BY n"), found, damaged)) {
    found.is_broken = true;
    found.damage = make_error(Errc::store_damaged, "Not all recent pages can be read.");
    const std::int64_t before = found.last_row;
    found.missing.push_back({{before, std::numeric_limits<std::size_t>::max()}});
    // What is behind the block, as far as that can be read.
    find_pages(
        database_.rows("SELECT n, crc, pages FROM recent WHERE n>?1 ORDER BY n DESC", before),
        found, damaged);
  }
  std::sort(damaged.begin(), damaged.end());
  for (const std::int64_t row : damaged) salvage(row, found);
  if (!damaged.empty()) found.damage = damaged_row(damaged.front());
  std::stable_sort(
      found.pages.begin(), found.pages.end(),
      [](const FoundPage& one, const FoundPage& other) { return one.place < other.place; });
  return found;
}

void Backend::salvage(std::int64_t row, FoundPages& found) {
  RunsAtWork runs = runs_at_work();
  for (const FoundPage& page : found.pages) {
    const auto run = runs.find(page.run);
    if (page.place.row >= row || run == runs.end()) continue;
    run->second.last = std::max(run->second.last, page.placed.page.last);
  }
  Rows rows = database_.rows("SELECT pages FROM recent WHERE n=?1", row);
  if (rows.next()) salvage_row(row, rows.view(0), runs, found);
  take_broken_block();
}

// A process that was killed left them, or a transaction in which some were taken was undone.
Result<void> Backend::adopt_recent() {
  FoundPages found = find_recent();
  MILLRACE_TRY(finish());
  // Never a number again that a reader may know.
  recent_.begin(std::max(found.last_row / recent_lanes + 1, recent_.commit()));
  if (found.damage) {
    MILLRACE_TRY(move_to_journals(std::move(found)));
  } else {
    restore(std::move(found));
  }
  MILLRACE_TRY(finish());
  is_recent_known_ = true;
  is_recent_changed_ = false;
  return {};
}

std::uint64_t Backend::last_in_journal(std::int64_t run) {
  return static_cast<std::uint64_t>(
      database_.number("SELECT max(last) FROM journal WHERE run=?1", run).value_or(0));
}

// They stay where they are, which takes no room, and their turns come as those of others.
void Backend::restore(FoundPages found) {
  std::map<std::int64_t, std::uint64_t> last;
  for (FoundPage& page : found.pages) {
    const auto [known, is_new] = last.try_emplace(page.run);
    if (is_new) known->second = last_in_journal(page.run);
    const std::uint64_t end = page.placed.page.last;
    const bool is_placed = end <= known->second;
    known->second = std::max(known->second, end);
    recent_.restore(page.place.row / recent_lanes, page.run, std::move(page.placed), is_placed);
  }
}

// Has nothing of the table left where some of it is damaged.
Result<void> Backend::move_to_journals(FoundPages found) {
  std::map<std::int64_t, std::vector<PlacedPage>> pages;  // by run
  for (const FoundPage& page : found.pages) pages[page.run].push_back(page.placed);
  set_synchronous(true);
  Transaction transaction(database_);
  for (auto& [run, its] : pages) {
    std::stable_sort(its.begin(), its.end(), [](const PlacedPage& one, const PlacedPage& other) {
      return one.page.last < other.page.last;
    });
    adopt(run, its);
  }
  for (const std::int64_t run : found.lacking(runs_at_work())) mark_damaged(run);
  clear_recent(found.is_broken);
  transaction.commit();
  return finish();
}

// Some may be in the journal already: their row was still needed for others.
void Backend::adopt(std::int64_t run, const std::vector<PlacedPage>& pages) {
  std::uint64_t last = last_in_journal(run);
  for (const PlacedPage& placed : pages) {
    // A page behind a gap is added as well: a read of the run finds the gap and reports it.
    if (placed.page.last <= last) continue;
    insert_page(run, placed);
    last = placed.page.last;
  }
}

// A page that does not fit its checksum: records may be missing there.
void Backend::mark_damaged(std::int64_t run) {
  database_.run("INSERT INTO journal(run, last, count, crc, page) VALUES(?1, ?2, 1, 0, x'00')", run,
                last_in_journal(run) + 1);
}

void Backend::clear_recent(bool is_broken) {
  if (!is_broken) {
    database_.run("SAVEPOINT clear");
    database_.run("DELETE FROM recent");
    is_broken = take_broken_block();
    if (is_broken) database_.run("ROLLBACK TO clear");
    database_.run("RELEASE clear");
  }
  if (is_broken) renew_recent_table(database_);
}

}  // namespace millrace::store::sqlite
