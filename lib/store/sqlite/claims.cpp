// Who works on a run, and what the user decides.
#include <algorithm>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {

std::optional<RunId> Backend::at_work_in(const NewRun& run) {
  if (run.thread.empty() || run.root) return std::nullopt;
  const auto thread = find_thread(run.principal, run.thread);
  if (!thread) return std::nullopt;
  Rows rows = database_.rows(
      "SELECT id FROM runs WHERE thread=?1 AND root IS NULL AND state IN (1, 2) AND id<>?2",
      *thread, Bytes{run.id.bytes()});
  return rows.next() ? std::optional(RunId::of_bytes(rows.view(0))) : std::nullopt;
}

std::int64_t Backend::last_time(std::int64_t run) {
  Rows rows = database_.rows(
      "SELECT last, count, page FROM journal WHERE run=?1 ORDER BY last DESC LIMIT 1", run);
  if (!rows.next()) return 0;
  return end_of({static_cast<std::uint64_t>(rows.number(0)),
                 static_cast<std::uint64_t>(rows.number(1)), rows.text(2)});
}

std::optional<Claim> Backend::take(RunRow row, std::string_view owner, std::int64_t at) {
  if (at_work_in(row.run)) return std::nullopt;
  Claim claim;
  live_.erase(row.run.id);
  Live* known = live(row.run.id);
  if (known == nullptr) return std::nullopt;
  const journal::Page page = take_over(row, claim, owner, last_time(known->no), at);
  known->epoch = row.epoch;
  known->is_open = true;
  write_page(row.run.id, *known, page);
  row.last = known->last;
  row.reserved = known->last;
  if (options_.durability == Durability::balanced) row.reserved += reserve_ahead;
  known->reserved = row.reserved;
  store_run(row);
  database_.run("UPDATE runs SET epoch=epoch+1 WHERE root=?1 AND ended IS NULL", known->no);
  Rows rows = database_.rows(MILLRACE_SELECT_RUN " WHERE r.root=?1 AND r.ended IS NULL", known->no);
  while (rows.next()) claim.children.push_back(read_run(rows));
  claim.run = std::move(row);
  return claim;
}

Result<std::vector<Claim>> Backend::claim(std::span<const std::string> names,
                                          std::string_view owner, std::size_t most) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  Transaction transaction(database_);
  std::vector<RunRow> due;
  for (const std::string& text : names) {
    const auto known = find_name(text);
    if (!known) continue;
    // More than are wanted: the threads of some may be busy.
    Rows rows = database_.rows(MILLRACE_SELECT_RUN
                               " WHERE r.name=?1 AND r.root IS NULL AND r.owner IS NULL"
                               " AND r.state IN (0, 1, 3, 4) AND r.run_at<=?2"
                               " ORDER BY r.run_at LIMIT ?3",
                               *known, at, most * 4);
    while (rows.next()) due.push_back(read_run(rows));
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const RunRow& a, const RunRow& b) { return a.run.run_at < b.run.run_at; });
  std::vector<Claim> claims;
  for (RunRow& row : due) {
    if (claims.size() == most) break;
    if (auto claim = take(std::move(row), owner, at)) claims.push_back(std::move(*claim));
  }
  transaction.commit();
  return finish(std::move(claims));
}

Result<std::optional<Claim>> Backend::claim_run(const RunId& root, std::string_view owner) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  Transaction transaction(database_);
  auto row = load_run(root);
  if (!row || row->run.root) return database_.ok() ? no_run(root) : failure();
  std::optional<Claim> claim;
  if (!journal::is_over(row->state) && row->run.owner.empty()) {
    claim = take(std::move(*row), owner, at);
  }
  transaction.commit();
  return finish(std::move(claim));
}

Result<std::size_t> Backend::release(std::string_view owner, Release how) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  // A clean end: no number that was shown is missing in the file.
  database_.run(
      "UPDATE runs SET owner=NULL, run_at=min(run_at, ?2), reserved=0, head=?3 WHERE owner=?1",
      owner, now(), Bytes{how == Release::clean ? released_head : std::string_view()});
  const auto count = static_cast<std::size_t>(database_.ok() ? database_.changes() : 0);
  transaction.commit();
  live_.clear();
  return finish(count);
}

void Backend::write_fact(RunRow& row, const journal::Fact& fact, std::int64_t at) {
  Live* known = live(row.run.id);
  if (known == nullptr) return;
  write_page(row.run.id, *known, page_of(fact, at));
  row.last = known->last;
  row.reserved = known->reserved;
}

Result<DecisionOutcome> Backend::decide(const Decision& decision) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  Transaction transaction(database_);
  ApprovalRow approval;
  {
    Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL " WHERE a.id=?1", decision.approval);
    if (!rows.next()) return finish(DecisionOutcome{DecisionStatus::not_found, {}, 0});
    approval = read_approval(rows);
  }
  DecisionOutcome outcome{status_of(approval, decision, at), {}, 0};
  if (outcome.status == DecisionStatus::not_found) return outcome;
  outcome.run = approval.run;
  if (outcome.status != DecisionStatus::decided) return outcome;
  auto row = load_run(approval.run);
  if (!row) return database_.ok() ? no_run(approval.run) : failure();
  write_fact(*row,
             journal::ApprovalDecided{approval.id, decision.decision, decision.edits, decision.by},
             at);
  outcome.seq = row->last;
  const auto others = database_.number(
      "SELECT count(*) FROM approvals a JOIN runs r ON r.no=a.run WHERE r.id=?1 AND a.id<>?2"
      " AND a.decided IS NULL AND a.expired=0",
      Bytes{approval.run.bytes()}, approval.id);
  if (others == 0) answer_waiting(*row, at);
  store_run(*row);
  database_.run("UPDATE approvals SET decided=?2, decision=?3, decided_by=?4 WHERE id=?1",
                approval.id, at, Bytes{decision.decision}, decision.by);
  transaction.commit();
  return finish(outcome);
}

}  // namespace millrace::store::sqlite
