// What becomes of old rows: approvals expire, the records of runs that ended take less room and are
// removed later, and blobs that nothing refers to go.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "journal/compact.hpp"
#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

// Free pages of the file that are kept for what comes.
constexpr std::int64_t spare_pages = 1024;
// Runs that a commit wakes.
constexpr std::size_t most_late = 200;

}  // namespace

// How much one sweep may still do.
struct Backend::SweepRoom {
  std::size_t runs = 0;
  std::size_t bytes = 0;
  [[nodiscard]] bool is_over() const { return runs == 0 || bytes == 0; }
  void take(std::size_t some) { bytes -= std::min(bytes, some); }
};

// Each run is a transaction of its own. A process that is killed in between leaves some of them for
// the next one.
Result<SweepReport> Backend::sweep(const SweepPolicy& policy) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  if (must_forget_) MILLRACE_TRY(forget_for_good());
  // Without a claim by a rate nothing else forgets them.
  forget_starts(longest_rate);
  SweepReport report;
  report.has_more = expire_approvals(at, report);
  report.has_more = wake_late(at, report) || report.has_more;
  SweepRoom room{policy.most_runs, policy.most_bytes};
  remove_rest(room);
  if (policy.events_ms) remove_records(at - *policy.events_ms, room, report);
  if (policy.compact_ms) compact_runs(at - *policy.compact_ms, room, report);
  if (policy.blobs_ms) remove_blobs(at - *policy.blobs_ms, room, report);
  report.has_more = report.has_more || room.is_over();
  if (policy.is_idle && !report.has_more) report.has_more = give_back_pages();
  return finish(std::move(report));
}

// True where more are late: a commit takes some of them, so that no run waits long for it.
bool Backend::expire_approvals(std::int64_t at, SweepReport& report) {
  std::vector<ApprovalRow> late;
  {
    Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL
                               " WHERE a.decided IS NULL AND a.expired=0 AND a.expires<>0"
                               " AND a.expires<=?1 LIMIT ?2",
                               at, most_late);
    while (rows.next()) late.push_back(read_approval(rows));
  }
  if (late.empty()) return false;
  Transaction transaction(database_);
  for (const ApprovalRow& approval : late) {
    database_.run("UPDATE approvals SET expired=1 WHERE id=?1", approval.id);
    auto row = load_run(approval.run);
    if (!row) continue;
    write_fact(*row, journal::ApprovalExpired{approval.id}, at);
    answer_waiting(*row, at);
    store_run(*row);
    report.expired.push_back({row->run.id, row->last, row->state});
  }
  transaction.commit();
  return late.size() == most_late;
}

// Runs go on without what their clients have not sent. True as above.
bool Backend::wake_late(std::int64_t at, SweepReport& report) {
  std::vector<RunRow> late;
  {
    Rows rows = database_.rows(MILLRACE_SELECT_RUN
                               " WHERE r.deadline IS NOT NULL AND r.state=2 AND r.deadline<=?1"
                               " LIMIT ?2",
                               std::min(at, options_.clock()), most_late);
    while (rows.next()) late.push_back(read_run(rows));
  }
  if (late.empty()) return false;
  Transaction transaction(database_);
  for (RunRow& row : late) {
    answer_waiting(row, at);
    store_run(row);
    report.expired.push_back({row.run.id, row.last, row.state});
  }
  transaction.commit();
  return late.size() == most_late;
}

// Roots that ended until then, and whose records are in this form.
std::vector<std::pair<std::int64_t, RunId>> Backend::ended_runs(std::int64_t until,
                                                                StoredRecords records,
                                                                std::size_t most) {
  std::vector<std::pair<std::int64_t, RunId>> found;
  Rows rows = database_.rows(
      "SELECT no, id FROM runs WHERE root IS NULL AND ended IS NOT NULL AND records<2"
      " AND records=?1 AND ended<=?2 ORDER BY ended LIMIT ?3",
      records, until, most);
  while (rows.next()) found.emplace_back(rows.number(0), RunId::of_bytes(rows.view(1)));
  return found;
}

// Those of a long run take more than one sweep: they are removed for all others at once, and
// `removing` in the file keeps which run still has pages.
void Backend::remove_records(std::int64_t until, SweepRoom& room, SweepReport& report) {
  for (const StoredRecords records : {StoredRecords::compact, StoredRecords::whole}) {
    for (const auto& [no, id] : ended_runs(until, records, room.runs)) {
      if (room.is_over() || !database_.ok()) return;
      Transaction transaction(database_);
      if (recent_.may_hold(no)) settle_all();
      database_.run(
          "UPDATE runs SET records=?2, last=max(last, coalesce((SELECT max(j.last) FROM journal j"
          " WHERE j.run=?1), 0)) WHERE no=?1",
          no, StoredRecords::removed);
      if (!remove_pages(no, room)) {
        database_.run("INSERT OR REPLACE INTO meta VALUES('removing', ?1)", no);
      }
      if (!transaction.commit()) return;
      --room.runs;
      ++report.journals;
    }
  }
}

// Goes on where the sweep before had no room for all pages of a run.
void Backend::remove_rest(SweepRoom& room) {
  const auto no = database_.number("SELECT v FROM meta WHERE k='removing'");
  if (!no) return;
  Transaction transaction(database_);
  if (remove_pages(*no, room)) database_.run("DELETE FROM meta WHERE k='removing'");
  transaction.commit();
}

// Removes the first pages of a run, as many as there is room for. True where none is left.
bool Backend::remove_pages(std::int64_t no, SweepRoom& room) {
  std::int64_t last = 0;
  std::size_t bytes = 0;
  bool has_more = false;
  {
    Rows rows =
        database_.rows("SELECT last, length(page) FROM journal WHERE run=?1 ORDER BY last", no);
    while ((has_more = rows.next()) && bytes < room.bytes) {
      last = rows.number(0);
      bytes += static_cast<std::size_t>(rows.number(1));
    }
  }
  database_.run("DELETE FROM journal WHERE run=?1 AND last<=?2", no, last);
  room.take(bytes);
  return !has_more;
}

void Backend::compact_runs(std::int64_t until, SweepRoom& room, SweepReport& report) {
  for (const auto& [no, id] : ended_runs(until, StoredRecords::whole, room.runs)) {
    if (room.is_over() || !database_.ok()) return;
    Transaction transaction(database_);
    const bool is_done = compact_run(no, id, room);
    // A long run goes on with the next sweep.
    if (is_done)
      database_.run("UPDATE runs SET records=?2 WHERE no=?1", no, StoredRecords::compact);
    if (!transaction.commit()) return;
    --room.runs;
    if (is_done) ++report.compacted;
  }
}

// False where there was no room for all of it.
bool Backend::compact_run(std::int64_t no, const RunId& id, SweepRoom& room) {
  std::uint64_t at = 0;
  while (database_.ok()) {
    if (room.bytes == 0) return false;
    const PageGroup group = pages_behind(no, id, at);
    if (group.last == at) return true;
    at = group.last;
    if (group.pages.empty()) continue;
    const auto made = journal::compact(group.pages);
    // What does not get smaller stays, and is done: it takes no room from the others, again and
    // again.
    if (!made) continue;
    room.take(group.bytes);
    database_.run("DELETE FROM journal WHERE run=?1 AND last>?2 AND last<=?3", no,
                  made->last - made->count, made->last);
    insert_page(no, {*made, journal::checksum_of(made->bytes, id.bytes(), made->last, made->count),
                     group.hash});
  }
  return true;
}

// The next pages that become one: all with a hash, or all without. None where the next one is in
// less room already, or damaged, which stays as it is.
Backend::PageGroup Backend::pages_behind(std::int64_t no, const RunId& id, std::uint64_t after) {
  PageGroup group;
  group.last = after;
  Rows rows = database_.rows(
      "SELECT last, count, crc, page, hash FROM journal WHERE run=?1 AND last>?2 ORDER BY last", no,
      after);
  while (group.bytes < compact_bytes && rows.next()) {
    StoredPage page{static_cast<std::uint64_t>(rows.number(0)),
                    static_cast<std::uint64_t>(rows.number(1)), rows.text(3)};
    const bool is_plain = !journal::is_compact(page.bytes) &&
                          journal::checksum_of(page.bytes, id.bytes(), page.last, page.count) ==
                              static_cast<std::uint32_t>(rows.number(2)) &&
                          page.last - page.count == group.last;
    const bool is_alike = group.pages.empty() || group.hash.empty() == rows.view(4).empty();
    if (!group.pages.empty() && (!is_plain || !is_alike)) break;
    group.last = page.last;
    if (!is_plain) break;
    group.hash = rows.text(4);
    group.bytes += page.bytes.size();
    group.pages.push_back(std::move(page));
  }
  return group;
}

void Backend::remove_blobs(std::int64_t until, SweepRoom& room, SweepReport& report) {
  std::vector<std::pair<std::string, std::size_t>> old;
  {
    Rows rows = database_.rows(
        "SELECT hash, length(data) FROM blobs WHERE created>?3 AND created<=?1"
        " AND NOT EXISTS (SELECT 1 FROM attachments a WHERE a.hash=blobs.hash) LIMIT ?2",
        until, room.runs, blobs_seen_.value_or(std::numeric_limits<std::int64_t>::min()));
    while (rows.next()) old.emplace_back(rows.text(0), static_cast<std::size_t>(rows.number(1)));
  }
  for (const auto& [hash, bytes] : old) {
    if (room.is_over() || !database_.ok()) return;
    database_.run("DELETE FROM blobs WHERE hash=?1", Bytes{hash});
    room.take(bytes);
    --room.runs;
    if (database_.ok()) ++report.blobs;
  }
  if (!room.is_over() && database_.ok()) blobs_seen_ = until;
}

// True where there are more that nothing needs.
bool Backend::give_back_pages() {
  if (database_.number("PRAGMA freelist_count").value_or(0) <= spare_pages) return false;
  database_.script("PRAGMA incremental_vacuum(1024)");
  // A damaged block is where it is, and so is what is before it.
  if (take_broken_block()) return false;
  return database_.number("PRAGMA freelist_count").value_or(0) > spare_pages;
}

}  // namespace millrace::store::sqlite
