// Who works on a run, and what the user decides.
#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "base/json_tree.hpp"
#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {

std::optional<RunId> Backend::before_in_thread(const NewRun& run, journal::RunState state) {
  if (run.thread.empty() || run.root) return std::nullopt;
  const auto thread = find_thread(run.principal, run.thread);
  if (!thread) return std::nullopt;
  const auto first = [](Rows rows) {
    return rows.next() ? std::optional(RunId::of_bytes(rows.view(0))) : std::nullopt;
  };
  const Bytes own{run.id.bytes()};
  auto holder = first(database_.rows(
      "SELECT id FROM runs WHERE thread=?1 AND root IS NULL AND state IN (1, 2) AND id<>?2",
      *thread, own));
  const bool is_behind = state == journal::RunState::queued || state == journal::RunState::sleeping;
  if (holder || !is_behind) return holder;
  return first(
      database_.rows("SELECT id FROM runs WHERE thread=?1 AND root IS NULL AND state=4"
                     " AND id<>?2 AND head IS NOT ?3",
                     *thread, own, Bytes{row_of(Errc::store_damaged).code}));
}

std::optional<RunId> Backend::in_thread_of(const NewRun& run) {
  if (auto other = before_in_thread(run, journal::RunState::queued)) return other;
  const auto thread = run.thread.empty() ? std::nullopt : find_thread(run.principal, run.thread);
  if (!thread || run.root) return std::nullopt;
  Rows rows = database_.rows(
      "SELECT id FROM runs WHERE thread=?1 AND root IS NULL AND thread IS NOT NULL AND state=0",
      *thread);
  return rows.next() ? std::optional(RunId::of_bytes(rows.view(0))) : std::nullopt;
}

LineEnd Backend::line_end(std::int64_t run, std::string* hash) {
  LineEnd end;
  Rows rows = database_.rows(
      "SELECT last, count, page, hash FROM journal WHERE run=?1 ORDER BY last DESC", run);
  for (bool is_last = true; rows.next(); is_last = false) {
    if (is_last && hash != nullptr) *hash = rows.text(3);
    const bool goes_on = end.add({static_cast<std::uint64_t>(rows.number(0)),
                                  static_cast<std::uint64_t>(rows.number(1)), rows.text(2)});
    if (!goes_on) break;
  }
  return end;
}

// Those of a run that are not over, which are taken over with it.
std::vector<RunRow> Backend::take_children(std::int64_t root) {
  std::vector<RunRow> children;
  {
    Rows rows = database_.rows(MILLRACE_SELECT_RUN " WHERE r.root=?1 AND r.ended IS NULL", root);
    while (rows.next()) children.push_back(read_run(rows));
  }
  if (children.empty()) return children;
  database_.run("UPDATE runs SET epoch=epoch+1 WHERE root=?1 AND ended IS NULL", root);
  for (RunRow& child : children) ++child.epoch;
  return children;
}

std::optional<Claim> Backend::take(RunRow row, std::string_view owner, std::int64_t at) {
  if (before_in_thread(row.run, row.state)) return std::nullopt;
  const auto no = number_of(row.run.id);
  if (!no) return std::nullopt;
  Claim claim;
  add_recent(row, *no);
  settle(*no);
  std::string hash;
  const journal::Page page = take_over(row, claim, owner, line_end(*no, &hash), at);
  Live& known = keep(row.run.id, live_of(row, *no));
  known.is_open = true;
  known.hash = std::move(hash);
  write_page(row.run.id, known, page);
  row.last = known.last;
  row.reserved = known.last;
  if (options_.durability == Durability::balanced) row.reserved += reserve_ahead;
  known.reserved = row.reserved;
  store_run(row);
  claim.children = take_children(*no);
  claim.run = std::move(row);
  return claim;
}

Result<std::vector<WorkCount>> Backend::work_counts() {
  std::vector<WorkCount> counts;
  Rows rows = database_.rows(
      "SELECT m.text, p.text, count(*) FROM runs r JOIN names m ON m.n=r.name"
      " JOIN names p ON p.n=r.principal WHERE r.root IS NULL AND r.owner IS NOT NULL AND r.state=1"
      " AND r.lane<>3 GROUP BY r.name, r.principal");
  while (rows.next()) {
    counts.push_back({rows.text(0), rows.text(1), static_cast<std::size_t>(rows.number(2))});
  }
  return finish(std::move(counts));
}

Result<std::vector<BegunRun>> Backend::starts() {
  const std::int64_t at = options_.clock();
  std::vector<BegunRun> begun;
  Rows rows = database_.rows(
      "SELECT m.text, p.text, s.at FROM starts s JOIN names m ON m.n=s.name"
      " JOIN names p ON p.n=s.principal ORDER BY s.at");
  while (rows.next()) {
    // Nothing began later than now.
    const std::int64_t age = std::max<std::int64_t>(0, at - rows.number(2));
    begun.push_back({rows.text(0), rows.text(1), std::chrono::milliseconds(age)});
  }
  return finish(std::move(begun));
}

// A clock that was put back: what began then began now at the latest.
void Backend::forget_starts(std::chrono::milliseconds longest) {
  const std::int64_t at = options_.clock();
  database_.run("UPDATE starts SET at=?1 WHERE at>?1", at);
  database_.run("DELETE FROM starts WHERE at<=?1", at - longest.count());
}

void Backend::remember_starts(const std::vector<Claim>& claims, const CountedStarts& rates) {
  const std::vector<NewRun> starts = remembered_starts(claims, rates);
  if (starts.empty()) return;
  forget_starts(rates.longest);
  const std::int64_t at = options_.clock();
  for (const NewRun& run : starts) {
    database_.run("INSERT INTO starts(at, name, principal) VALUES(?1, ?2, ?3)", at, name(run.name),
                  name(run.principal));
  }
}

// A JSON list of their numbers, without those that no row has.
std::string Backend::numbers_of(const std::vector<std::string>& names) {
  json::Tree numbers = json::Tree::array();
  for (const std::string& name : names) {
    if (const auto known = find_name(name)) numbers.push(json::Tree::integer(*known));
  }
  return numbers.to_json();
}

std::vector<RunRow> Backend::find_due(const ClaimOrder::Wanted& wanted, std::int64_t at) {
  std::vector<RunRow> due;
  const std::string without = numbers_of(wanted.without_principals);
  const std::string again = numbers_of(wanted.again_principals);
  const std::vector<std::string>& no_starts = wanted.again_names;
  for (const std::string& text : wanted.names) {
    const auto known = find_name(text);
    if (!known) continue;
    const bool only_again = std::find(no_starts.begin(), no_starts.end(), text) != no_starts.end();
    Rows rows = database_.rows(MILLRACE_SELECT_RUN
                               " WHERE r.name=?1 AND r.lane=?2 AND r.root IS NULL"
                               " AND r.owner IS NULL AND r.state IN (0, 1, 3, 4) AND r.run_at<=?3"
                               " AND (r.state<>3 OR r.run_at<=?6)"
                               " AND r.principal NOT IN (SELECT value FROM json_each(?4))"
                               " AND (r.epoch>0 OR (?7=0"
                               " AND r.principal NOT IN (SELECT value FROM json_each(?8))))"
                               " AND NOT EXISTS (SELECT 1 FROM runs b WHERE b.thread=r.thread"
                               " AND b.root IS NULL AND b.state IN (1, 2) AND b.no<>r.no)"
                               " AND (r.state NOT IN (0, 3) OR NOT EXISTS (SELECT 1 FROM runs b"
                               " WHERE b.thread=r.thread AND b.root IS NULL AND b.state=4"
                               " AND b.head IS NOT ?9))"
                               " ORDER BY r.run_at, r.no LIMIT ?5",
                               *known, wanted.lane, at, without, wanted.most, options_.clock(),
                               only_again, again, Bytes{row_of(Errc::store_damaged).code});
    while (rows.next()) due.push_back(read_run(rows));
  }
  // Runs of several names that came in the same millisecond are in the order of their ids.
  std::sort(due.begin(), due.end(), [](const RunRow& a, const RunRow& b) {
    return std::tie(a.run.run_at, a.created, a.run.id) <
           std::tie(b.run.run_at, b.created, b.run.id);
  });
  return due;
}

Result<std::vector<Claim>> Backend::claim(const ClaimRequest& request) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  Transaction transaction(database_);
  std::vector<WorkCount> at_work;
  if (request.limits.any()) {
    auto counts = work_counts();
    if (!counts) return counts.error();
    at_work = std::move(counts).value();
  }
  ClaimOrder order(request, at_work, turns_,
                   [&](const ClaimOrder::Wanted& wanted) { return find_due(wanted, at); });
  std::vector<Claim> claims;
  while (claims.size() < request.most && database_.ok()) {
    auto row = order.next();
    if (!row) break;
    auto claim = take(std::move(*row), request.owner, at);
    if (!claim) continue;
    order.begun(*claim);
    claims.push_back(std::move(*claim));
  }
  remember_starts(claims, request.rates);
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

Result<bool> Backend::append_unowned(const AppendBatch& batch) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  Transaction transaction(database_);
  const auto row = load_run(batch.run);
  Live* known = live(batch.run);
  const bool waits = row && known != nullptr && takes_unowned(*row) && row->epoch == batch.epoch;
  if (!waits) return finish(false);
  known->is_open = true;
  // Nothing of it is shown before its commit, so that no numbers are reserved.
  AppendOutcome outcome = append_one(batch, at, false, false);
  live_.erase(batch.run);
  if (outcome.status != AppendStatus::committed) {
    return outcome.error.value_or(make_error(Errc::store_failed));
  }
  transaction.commit();
  return finish(true);
}

Result<bool> Backend::begin_held(const RunId& root) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  database_.run("UPDATE runs SET run_at=?2 WHERE id=?1 AND owner IS NULL AND state=0 AND run_at=?3",
                Bytes{root.bytes()}, now(), until_begun);
  return finish(database_.ok() && database_.changes() > 0);
}

Result<std::size_t> Backend::release(std::string_view owner, Release how) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  settle_all();
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
  settle(known->no);
  write_page(row.run.id, *known, page_of(fact, std::max(at, line_end(known->no).at())));
  row.last = known->last;
  row.reserved = known->reserved;
}

Result<std::vector<DecisionOutcome>> Backend::decide(std::span<const Decision> decisions) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  Transaction transaction(database_);
  std::vector<std::optional<ApprovalRow>> approvals;
  for (const Decision& decision : decisions) {
    Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL " WHERE a.id=?1", decision.approval);
    approvals.emplace_back();
    if (rows.next()) approvals.back() = read_approval(rows);
  }
  auto outcomes = outcomes_of(approvals, decisions, at);
  if (!all_decided(outcomes)) return finish(std::move(outcomes));
  for (std::size_t one = 0; one < decisions.size(); ++one) {
    auto row = load_run(outcomes[one].run);
    if (!row) return database_.ok() ? no_run(outcomes[one].run) : failure();
    outcomes[one].seq = write_decision(std::move(*row), decisions[one], at);
    outcomes[one].at_ms = at;
  }
  transaction.commit();
  return finish(std::move(outcomes));
}

// Gives the number of its record.
std::uint64_t Backend::write_decision(RunRow row, const Decision& decision, std::int64_t at) {
  write_fact(
      row,
      journal::ApprovalDecided{decision.approval, decision.decision, decision.edits, decision.by},
      at);
  database_.run("UPDATE approvals SET decided=?2, decision=?3, decided_by=?4 WHERE id=?1",
                decision.approval, at, Bytes{decision.decision}, decision.by);
  const auto open = database_.number(
      "SELECT count(*) FROM approvals a JOIN runs r ON r.no=a.run WHERE r.id=?1"
      " AND a.decided IS NULL AND a.expired=0",
      Bytes{row.run.id.bytes()});
  if (open == 0) answer_waiting(row, at);
  store_run(row);
  return row.last;
}

}  // namespace millrace::store::sqlite
