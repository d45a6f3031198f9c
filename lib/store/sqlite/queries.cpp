// What only reads.
#include <algorithm>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

// Each text has an index for what it looks for first.
const char* approval_query(const ApprovalQuery& query) {
  if (query.id) {
    return MILLRACE_SELECT_APPROVAL
        " WHERE a.id=?3 AND (?1 IS NULL OR a.principal=?1) AND (?2 IS NULL OR a.run=?2)"
        " AND (NOT ?4 OR (a.decided IS NULL AND a.expired=0))";
  }
  if (query.run) {
    return MILLRACE_SELECT_APPROVAL
        " WHERE a.run=?2 AND (?1 IS NULL OR a.principal=?1)"
        " AND (NOT ?4 OR (a.decided IS NULL AND a.expired=0))";
  }
  // The others have all parameters as well.
  if (!query.open_only) {
    return MILLRACE_SELECT_APPROVAL
        " WHERE (?1 IS NULL OR a.principal=?1) AND ?2 IS NULL AND ?3 IS NULL AND NOT ?4";
  }
  if (query.principal) {
    return MILLRACE_SELECT_APPROVAL
        " WHERE a.principal=?1 AND a.decided IS NULL AND a.expired=0"
        " AND ?2 IS NULL AND ?3 IS NULL AND ?4";
  }
  return MILLRACE_SELECT_APPROVAL
      " WHERE a.decided IS NULL AND a.expired=0"
      " AND ?1 IS NULL AND ?2 IS NULL AND ?3 IS NULL AND ?4";
}

}  // namespace

CheckpointRow read_checkpoint(const Rows& rows) {
  CheckpointRow row{RunId::of_bytes(rows.view(0)), rows.number(1),
                    static_cast<std::uint64_t>(rows.number(2)), rows.number(3) != 0, rows.text(4)};
  row.checksum = rows.maybe(5);
  return row;
}

ApprovalRow read_approval(const Rows& rows) {
  ApprovalRow row;
  row.id = rows.text(0);
  row.run = RunId::of_bytes(rows.view(1));
  row.call = rows.text(2);
  row.kind = static_cast<journal::ApprovalKind>(rows.number(3));
  row.principal = rows.text(4);
  row.args_hash = rows.text(5);
  row.tools_hash = rows.text(6);
  row.shown = rows.text(7);
  row.expires = rows.number(8);
  row.decided = rows.maybe(9);
  row.decision = rows.text(10);
  row.decided_by = rows.text(11);
  row.has_expired = rows.number(12) != 0;
  return row;
}

Result<std::vector<StoredPage>> Backend::read(const RunId& root, std::uint64_t after,
                                              std::size_t max_bytes) {
  const auto no = number_of(root);
  if (!database_.ok()) return failure();
  if (!no) return no_run(root);
  const Snapshot snapshot(database_);
  bool is_running = false;
  {
    Rows rows = database_.rows("SELECT state, records FROM runs WHERE no=?1", *no);
    if (rows.next()) {
      is_running = rows.number(0) == static_cast<std::int64_t>(journal::RunState::running);
      if (rows.number(1) == static_cast<std::int64_t>(StoredRecords::removed)) {
        return no_records(root);
      }
    }
  }
  PagesBehind pages(after, max_bytes);
  const auto add = [&](StoredPage page, std::uint32_t checksum) -> Result<bool> {
    if (journal::checksum_of(page.bytes, root.bytes(), page.last, page.count) != checksum) {
      return make_error(Errc::store_damaged, "The page of the run " + root.text() +
                                                 " that ends at record " +
                                                 std::to_string(page.last) + " is damaged.");
    }
    return pages.add(std::move(page));
  };
  std::uint64_t last = after;
  {
    Rows rows = database_.rows(
        "SELECT last, count, crc, page FROM journal WHERE run=?1 AND last>?2 ORDER BY last", *no,
        after);
    while (rows.next()) {
      last = static_cast<std::uint64_t>(rows.number(0));
      const auto more = add({last, static_cast<std::uint64_t>(rows.number(1)), rows.text(3)},
                            static_cast<std::uint32_t>(rows.number(2)));
      if (!more) return more.error();
      if (!more.value()) return finish(pages.take());
    }
  }
  // Others have all their pages in the journal.
  if (!is_running) return finish(pages.take());
  auto recent = recent_of(*no, last);
  if (!recent) return std::move(recent).error();
  for (PlacedPage& placed : recent.value()) {
    const auto more = add(std::move(placed.page), placed.checksum);
    if (!more) return more.error();
    if (!more.value()) break;
  }
  return finish(pages.take());
}

Result<std::vector<RunHead>> Backend::watch(std::span<const RunId> roots) {
  std::vector<RunHead> heads;
  for (const RunId& id : roots) {
    const Snapshot snapshot(database_);
    Rows rows = database_.rows(
        "SELECT max(last, coalesce((SELECT max(j.last) FROM journal j WHERE j.run=r.no), 0)),"
        " state, no FROM runs r WHERE id=?1",
        Bytes{id.bytes()});
    if (!rows.next()) continue;
    const auto state = static_cast<journal::RunState>(rows.number(1));
    auto last = static_cast<std::uint64_t>(rows.number(0));
    if (state == journal::RunState::running) last = std::max(last, recent_last(rows.number(2)));
    heads.push_back({id, last, state});
  }
  return finish(std::move(heads));
}

Result<std::optional<std::int64_t>> Backend::next_due() {
  std::optional<std::int64_t> first = database_.number(
      "SELECT min(run_at) FROM runs INDEXED BY runs_due"
      " WHERE root IS NULL AND state IN (0, 3)");
  const std::int64_t set_back = std::max<std::int64_t>(now() - options_.clock(), 0);
  if (set_back > 0) {
    first = database_.number(
        "SELECT min(run_at + iif(state=3, ?1, 0)) FROM runs INDEXED BY runs_due"
        " WHERE root IS NULL AND state IN (0, 3)",
        set_back);
  }
  const auto expiry = database_.number(
      "SELECT min(expires) FROM approvals WHERE decided IS NULL AND expired=0 AND expires<>0");
  if (expiry) first = std::min(first.value_or(*expiry), *expiry);
  const auto client = database_.number(
      "SELECT min(deadline) FROM runs INDEXED BY runs_client"
      " WHERE deadline IS NOT NULL AND state=2");
  if (client) first = std::min(first.value_or(*client + set_back), *client + set_back);
  return finish(first);
}

Result<std::optional<RunRow>> Backend::run(const RunId& id) {
  return finish(load_run(id));
}

Result<std::vector<RunRow>> Backend::children(const RunId& root) {
  std::vector<RunRow> found;
  Rows rows = database_.rows(MILLRACE_SELECT_RUN " WHERE r.root=?1 ORDER BY r.id", number_of(root));
  while (rows.next()) found.push_back(read_run(rows));
  return finish(std::move(found));
}

Result<std::vector<SegmentRow>> Backend::segments(std::string_view principal,
                                                  std::string_view ag_ui_run) {
  std::vector<SegmentRow> found;
  Rows rows = database_.rows(
      "SELECT r.id, s.first, s.thread, s.body_hash FROM segments s JOIN runs r ON r.no=s.run"
      " WHERE s.principal=?1 AND s.ag_ui_run=?2 ORDER BY s.run, s.first",
      find_name(principal), ag_ui_run);
  while (rows.next()) {
    found.push_back({RunId::of_bytes(rows.view(0)), static_cast<std::uint64_t>(rows.number(1)),
                     std::string(principal), rows.text(2), std::string(ag_ui_run), rows.text(3)});
  }
  return finish(std::move(found));
}

Result<std::vector<CheckpointRow>> Backend::checkpoints(const RunId& run) {
  std::vector<CheckpointRow> found;
  Rows rows = database_.rows(
      "SELECT ?2, number, seq, is_full, data, crc FROM checkpoints WHERE run=?1 ORDER BY number",
      number_of(run), Bytes{run.bytes()});
  while (rows.next()) found.push_back(read_checkpoint(rows));
  return finish(std::move(found));
}

Result<std::vector<CallRow>> Backend::calls(const RunId& run) {
  std::vector<CallRow> found;
  Rows rows = database_.rows(
      "SELECT c.call, c.kind, m.text, c.effect, c.args, c.args_hash, c.state, c.tries, c.epoch,"
      " c.result FROM calls c JOIN names m ON m.n=c.name WHERE c.run=?1 ORDER BY c.n",
      number_of(run));
  while (rows.next()) {
    CallRow row;
    row.run = run;
    row.call = rows.text(0);
    row.kind = static_cast<journal::CallKind>(rows.number(1));
    row.name = rows.text(2);
    row.effect = static_cast<journal::Effect>(rows.number(3));
    row.args = rows.text(4);
    row.args_hash = rows.text(5);
    row.state = static_cast<journal::CallState>(rows.number(6));
    row.tries = rows.number(7);
    row.epoch = rows.number(8);
    row.result = rows.text(9);
    found.push_back(std::move(row));
  }
  return finish(std::move(found));
}

Result<std::vector<ApprovalRow>> Backend::approvals(const ApprovalQuery& query) {
  std::optional<std::int64_t> principal;
  std::optional<std::int64_t> run;
  if (query.principal) principal = find_name(*query.principal);
  if (query.run) run = number_of(*query.run);
  std::vector<ApprovalRow> found;
  if ((query.principal && !principal) || (query.run && !run)) return finish(std::move(found));
  Rows rows = database_.rows(approval_query(query), principal, run, query.id, query.open_only);
  while (rows.next()) found.push_back(read_approval(rows));
  std::sort(found.begin(), found.end(),
            [](const ApprovalRow& one, const ApprovalRow& other) { return one.id < other.id; });
  return finish(std::move(found));
}

}  // namespace millrace::store::sqlite
