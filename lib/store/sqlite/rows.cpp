// Rows of runs, and the numbers that stand for names and threads.
#include "store/sqlite/rows.hpp"

#include <algorithm>

#include "store/sqlite/backend_impl.hpp"

namespace millrace::store::sqlite {
namespace {

std::optional<std::string_view> filled(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

std::optional<Bytes> filled_bytes(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(Bytes{text});
}

}  // namespace

std::optional<RunId> maybe_id(std::string_view bytes) {
  return bytes.empty() ? std::nullopt : std::optional(RunId::of_bytes(bytes));
}

RunRow read_run(const Rows& rows) {
  RunRow row;
  NewRun& run = row.run;
  run.id = RunId::of_bytes(rows.view(0));
  run.kind = rows.text(1);
  run.name = rows.text(2);
  run.version = rows.text(3);
  run.plan_hash = rows.text(4);
  run.principal = rows.text(5);
  run.thread = rows.text(6);
  run.root = maybe_id(rows.view(7));
  run.parent = maybe_id(rows.view(8));
  run.parent_call = rows.text(9);
  row.state = static_cast<journal::RunState>(rows.number(10));
  run.owner = rows.text(11);
  row.epoch = rows.number(12);
  row.last = static_cast<std::uint64_t>(rows.number(13));
  row.reserved = static_cast<std::uint64_t>(std::max(rows.number(14), rows.number(13)));
  row.step = rows.number(15);
  row.attempts = rows.number(16);
  row.recoveries = rows.number(17);
  run.run_at = rows.number(18);
  run.deadline = rows.maybe(19);
  row.stop = rows.number(20) != 0;
  run.idem_key = rows.text(21);
  run.idem_hash = rows.text(22);
  row.created = rows.number(23);
  row.ended = rows.maybe(24);
  row.head = rows.text(25);
  run.lane = static_cast<Lane>(rows.number(27));
  row.records = static_cast<StoredRecords>(rows.number(28));
  return row;
}

std::int64_t Backend::name(std::string_view text) {
  if (const auto known = find_name(text)) return *known;
  database_.run("INSERT INTO names(text) VALUES(?1)", text);
  if (!database_.ok()) return 0;
  return names_[std::string(text)] = database_.last_row();
}

std::optional<std::int64_t> Backend::find_name(std::string_view text) {
  const auto known = names_.find(std::string(text));
  if (known != names_.end()) return known->second;
  const auto found = database_.number("SELECT n FROM names WHERE text=?1", text);
  if (!found) return std::nullopt;
  constexpr std::size_t most_names = 10'000;
  if (names_.size() >= most_names) names_.clear();
  return names_[std::string(text)] = *found;
}

std::optional<std::int64_t> Backend::find_thread(std::string_view principal, std::string_view id) {
  const auto owner = find_name(principal);
  if (!owner) return std::nullopt;
  return database_.number("SELECT n FROM threads WHERE principal=?1 AND id=?2", *owner, id);
}

std::int64_t Backend::ensure_thread(std::string_view principal, std::string_view id,
                                    std::int64_t at) {
  if (const auto known = find_thread(principal, id)) {
    database_.run("UPDATE threads SET updated=max(updated, ?2) WHERE n=?1", *known, at);
    return *known;
  }
  database_.run(
      "INSERT INTO threads(principal, id, title, created, updated, extra, changes)"
      " VALUES(?1, ?2, '', ?3, ?3, x'', ?4)",
      name(principal), id, at, next_change());
  return database_.last_row();
}

// Beyond those that the file has of earlier processes, as long as these made fewer in a second than
// a million.
std::int64_t Backend::next_change() {
  constexpr std::int64_t in_millisecond = 1024;
  last_change_ = std::max(last_change_ + 1, now() * in_millisecond);
  return last_change_;
}

void Backend::note_change(std::int64_t thread) {
  database_.run("UPDATE threads SET changes=?2 WHERE n=?1", thread, next_change());
}

std::optional<std::int64_t> Backend::number_of(const RunId& id) {
  if (const auto known = live_.find(id); known != live_.end()) return known->second.no;
  return database_.number("SELECT no FROM runs WHERE id=?1", Bytes{id.bytes()});
}

std::optional<RunRow> Backend::load_run(const RunId& id) {
  Rows rows = database_.rows(MILLRACE_SELECT_RUN " WHERE r.id=?1", Bytes{id.bytes()});
  if (!rows.next()) return std::nullopt;
  RunRow row = read_run(rows);
  add_recent(row, rows.number(number_column));
  return row;
}

// Counts what a run at work has that is not yet in its journal.
void Backend::add_recent(RunRow& row, std::int64_t no) {
  if (row.state != journal::RunState::running || row.run.root) return;
  row.last = std::max(row.last, recent_last(no));
  row.reserved = std::max(row.reserved, row.last);
}

void Backend::insert_run(const NewRun& run, std::int64_t at) {
  const RunRow row = row_of(run, at);
  std::optional<std::int64_t> thread;
  if (!run.thread.empty()) thread = ensure_thread(run.principal, run.thread, at);
  const std::int64_t kind = name(run.kind);
  const std::int64_t its_name = name(run.name);
  const std::int64_t principal = name(run.principal);
  std::optional<std::int64_t> root;
  if (run.root) root = number_of(*run.root);
  std::optional<Bytes> parent;
  if (run.parent) parent = Bytes{run.parent->bytes()};
  database_.run(
      "INSERT INTO runs(id, kind, name, version, plan_hash, thread, principal, root, parent,"
      " parent_call, state, owner, epoch, last, reserved, step, attempts, recoveries, run_at,"
      " deadline, stop, idem_key, idem_hash, created, lane) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
      "?9,"
      " ?10, ?11, ?12, ?13, 0, 0, 0, 0, 0, ?14, ?15, 0, ?16, ?17, ?18, ?19)",
      Bytes{run.id.bytes()}, kind, its_name, filled(run.version), filled_bytes(run.plan_hash),
      thread, principal, root, parent, filled(run.parent_call), row.state, filled(run.owner),
      row.epoch, row.run.run_at, run.deadline, filled(run.idem_key), filled_bytes(run.idem_hash),
      at, run.lane);
}

void Backend::store_run(const RunRow& row) {
  std::optional<std::string_view> owner;
  if (!row.run.owner.empty()) owner = row.run.owner;
  const std::uint64_t reserved = row.reserved > row.last ? row.reserved : 0;
  database_.run(
      "UPDATE runs SET state=?2, owner=?3, epoch=?4, last=?5, reserved=?6, step=?7, attempts=?8,"
      " recoveries=?9, run_at=?10, stop=?11, ended=?12, head=?13, deadline=?14 WHERE id=?1",
      Bytes{row.run.id.bytes()}, row.state, owner, row.epoch, row.last, reserved, row.step,
      row.attempts, row.recoveries, row.run.run_at, row.stop, row.ended, filled_bytes(row.head),
      row.run.deadline);
}

}  // namespace millrace::store::sqlite
