// What only reads.
#include <algorithm>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {

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
  std::vector<StoredPage> pages;
  std::size_t bytes = 0;
  Rows rows = database_.rows(
      "SELECT last, count, crc, page FROM journal WHERE run=?1 AND last>?2 ORDER BY last", *no,
      after);
  while (rows.next()) {
    StoredPage page{static_cast<std::uint64_t>(rows.number(0)),
                    static_cast<std::uint64_t>(rows.number(1)), rows.text(3)};
    if (journal::checksum_of(page.bytes, root.bytes(), page.last, page.count) !=
        static_cast<std::uint32_t>(rows.number(2))) {
      return make_error(Errc::store_damaged, "The page of the run " + root.text() +
                                                 " that ends at record " +
                                                 std::to_string(page.last) + " is damaged.");
    }
    bytes += page.bytes.size();
    if (!pages.empty() && bytes > max_bytes) break;
    pages.push_back(std::move(page));
  }
  return finish(std::move(pages));
}

Result<std::vector<RunHead>> Backend::watch(std::span<const RunId> roots) {
  std::vector<RunHead> heads;
  for (const RunId& id : roots) {
    Rows rows = database_.rows(
        "SELECT max(last, coalesce((SELECT max(j.last) FROM journal j WHERE j.run=r.no), 0)), state"
        " FROM runs r WHERE id=?1",
        Bytes{id.bytes()});
    if (!rows.next()) continue;
    heads.push_back({id, static_cast<std::uint64_t>(rows.number(0)),
                     static_cast<journal::RunState>(rows.number(1))});
  }
  return finish(std::move(heads));
}

Result<std::optional<std::int64_t>> Backend::next_due() {
  std::optional<std::int64_t> first =
      database_.number("SELECT min(run_at) FROM runs WHERE root IS NULL AND state IN (0, 3)");
  const auto expiry = database_.number(
      "SELECT min(expires) FROM approvals WHERE decided IS NULL AND expired=0 AND expires<>0");
  if (expiry) first = std::min(first.value_or(*expiry), *expiry);
  return finish(first);
}

Result<std::optional<RunRow>> Backend::run(const RunId& id) {
  return finish(load_run(id));
}

Result<RunList> Backend::runs(const RunQuery& query) {
  std::optional<std::int64_t> principal;
  if (query.principal) {
    principal = find_name(*query.principal);
    if (!principal) return finish(RunList());
  }
  const auto before = RunId::parse(query.before);
  const auto edge = before ? load_run(*before) : std::nullopt;
  std::optional<Bytes> edge_id;
  std::optional<std::int64_t> edge_time;
  if (edge) {
    edge_id = Bytes{edge->run.id.bytes()};
    edge_time = edge->created;
  }
  RunList list;
  Rows rows = database_.rows(MILLRACE_SELECT_RUN
                             " WHERE (?1 IS NULL OR r.principal=?1) AND (?2 IS NULL OR r.state=?2)"
                             " AND (?3 IS NULL OR t.id=?3) AND (?4 OR r.root IS NULL)"
                             " AND (?5 IS NULL OR (r.created, r.id) < (?5, ?6))"
                             " ORDER BY r.created DESC, r.id DESC LIMIT ?7",
                             principal, query.state, query.thread, query.with_children, edge_time,
                             edge_id, query.limit + 1);
  while (rows.next()) {
    if (list.runs.size() == query.limit) {
      list.next = list.runs.empty() ? std::string() : list.runs.back().run.id.text();
      break;
    }
    list.runs.push_back(read_run(rows));
  }
  return finish(std::move(list));
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
      "SELECT number, seq, is_full, data FROM checkpoints WHERE run=?1 ORDER BY number",
      number_of(run));
  while (rows.next()) {
    found.push_back({run, rows.number(0), static_cast<std::uint64_t>(rows.number(1)),
                     rows.number(2) != 0, rows.text(3)});
  }
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
  Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL
                             " WHERE (?1 IS NULL OR a.principal=?1) AND (?2 IS NULL OR a.run=?2)"
                             " AND (NOT ?3 OR (a.decided IS NULL AND a.expired=0)) ORDER BY a.id",
                             principal, run, query.open_only);
  while (rows.next()) found.push_back(read_approval(rows));
  return finish(std::move(found));
}

Result<std::vector<OutboxRow>> Backend::outbox(std::size_t most) {
  std::vector<OutboxRow> found;
  Rows rows = database_.rows(
      "SELECT o.id, r.id, o.url, o.body, o.tries, o.next_at FROM outbox o JOIN runs r ON r.no=o.run"
      " WHERE o.next_at<=?1 ORDER BY o.next_at LIMIT ?2",
      now(), most);
  while (rows.next()) {
    found.push_back({rows.text(0), RunId::of_bytes(rows.view(1)), rows.text(2), rows.text(3),
                     rows.number(4), rows.number(5)});
  }
  return finish(std::move(found));
}

Result<void> Backend::settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  if (next_at) {
    database_.run("UPDATE outbox SET tries=tries+1, next_at=?2 WHERE id=?1", id, *next_at);
  } else {
    database_.run("DELETE FROM outbox WHERE id=?1", id);
  }
  return finish();
}

}  // namespace millrace::store::sqlite
