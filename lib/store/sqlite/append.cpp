// The commit of what runs append.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "journal/ledger.hpp"
#include "store/checkpoint_chain.hpp"
#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

using journal::CallState;

// A larger page takes most of a block of the file anyhow.
constexpr std::size_t most_recent_bytes = 2048;

// Whether a sync that failed may be tried again on a file that is opened anew. Trying it on the
// same file can claim a success that is none.
bool may_reopen(int code) {
  return (code & 0xFF) == SQLITE_IOERR;
}

std::vector<AppendOutcome> all_failed(std::span<const AppendBatch> batches, const Error& error) {
  const bool is_full = error.code == Errc::store_full;
  std::vector<AppendOutcome> outcomes;
  for (const AppendBatch& batch : batches) {
    outcomes.push_back(
        {is_full ? AppendStatus::full : AppendStatus::failed, batch.run, 0, 0, error});
  }
  return outcomes;
}

}  // namespace

std::vector<AppendOutcome> Backend::append(std::span<const AppendBatch> batches) {
  if (auto allowed = writable(); !allowed) return all_failed(batches, allowed.error());
  std::vector<AppendOutcome> outcomes = append_once(batches);
  if (database_.ok()) return outcomes;
  const bool again = may_reopen(database_.code());
  Error error = failure();
  if (!again || !connect().ok()) return all_failed(batches, error);
  // The commit may have reached the file before its sync failed.
  if (survived(outcomes, batches)) return outcomes;
  outcomes = append_once(batches);
  return database_.ok() ? outcomes : all_failed(batches, failure());
}

bool Backend::survived(std::span<const AppendOutcome> outcomes,
                       std::span<const AppendBatch> batches) {
  bool has_any = false;
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    if (outcomes[at].status != AppendStatus::committed || outcomes[at].last == 0) continue;
    const Live* run = live(batches[at].run);
    if (run == nullptr || run->last < outcomes[at].last) return false;
    has_any = true;
  }
  return has_any && database_.ok();
}

Backend::Live* Backend::live(const RunId& id) {
  if (const auto found = live_.find(id); found != live_.end()) return &found->second;
  const auto no = number_of(id);
  const auto row = no ? load_run(id) : std::nullopt;
  if (!row) return nullptr;
  Live made = live_of(*row, *no);
  made.is_open = !is_fenced(*row, row->epoch);
  made.hash = last_hash(*no);
  return &keep(id, std::move(made));
}

Backend::Live Backend::live_of(const RunRow& row, std::int64_t no) {
  return {no, row.epoch, row.last, row.reserved, false, row.run.root.has_value()};
}

Backend::Live& Backend::keep(const RunId& id, Live made) {
  constexpr std::size_t most_live = 20'000;
  if (live_.size() >= most_live) live_.clear();
  return live_[id] = std::move(made);
}

std::string Backend::last_hash(std::int64_t run) {
  if (const auto recent = recent_.pages_of(run); !recent.empty()) return recent.back().hash;
  Rows rows =
      database_.rows("SELECT hash FROM journal WHERE run=?1 ORDER BY last DESC LIMIT 1", run);
  return rows.next() ? rows.text(0) : std::string();
}

bool Backend::needs_sync(std::span<const AppendBatch> batches) {
  if (options_.durability != Durability::balanced) return true;
  std::map<RunId, std::uint64_t> counts;  // of the numbers that this commit takes
  return std::any_of(batches.begin(), batches.end(), [&](const AppendBatch& batch) {
    if (batch.is_urgent || batch.accept) return true;
    const Live* run = live(batch.run);
    const std::uint64_t count = counts[batch.run] += batch.page.count;
    return run != nullptr && run->last + count > run->reserved;
  });
}

std::vector<AppendOutcome> Backend::append_once(std::span<const AppendBatch> batches) {
  std::vector<AppendOutcome> outcomes;
  const std::int64_t at = now();
  const bool synced = needs_sync(batches);
  set_synchronous(synced);
  Transaction transaction(database_);
  settle_due();
  const auto streams = std::count_if(batches.begin(), batches.end(), is_progress);
  const bool is_crowded = static_cast<std::size_t>(streams) >= options_.crowd;
  std::set<RunId> broken;
  for (const AppendBatch& batch : batches) {
    if (broken.contains(batch.run)) {
      outcomes.push_back(behind_failure(batch));
      continue;
    }
    const bool is_plain = is_progress(batch);
    // Before what may be undone alone.
    if (const Live* run = is_plain ? nullptr : live(batch.run)) settle(run->no);
    if (!is_plain) database_.run("SAVEPOINT batch");
    AppendOutcome outcome = append_one(batch, at, synced, is_crowded);
    if ((database_.code() & 0xFF) == SQLITE_CONSTRAINT) {
      outcome = {AppendStatus::failed, batch.run, 0, 0, failure()};
    }
    if (outcome.status != AppendStatus::committed) {
      broken.insert(batch.run);
      live_.erase(batch.run);
      if (!is_plain) database_.run("ROLLBACK TO batch");
      names_.clear();
    }
    if (!is_plain) database_.run("RELEASE batch");
    outcomes.push_back(std::move(outcome));
    if (!database_.ok()) break;
  }
  end_recent_commit();
  transaction.commit();
  if (database_.ok()) checkpoint_log(SQLITE_CHECKPOINT_PASSIVE);
  return outcomes;
}

AppendOutcome Backend::append_one(const AppendBatch& batch, std::int64_t at, bool synced,
                                  bool is_crowded) {
  AppendOutcome outcome;
  outcome.run = batch.run;
  if (batch.accept && !accept(batch, at, outcome)) return outcome;
  Live* root = live(batch.run);
  if (root == nullptr || root->is_child ||
      (!batch.accept && (!root->is_open || root->epoch != batch.epoch))) {
    outcome.status = AppendStatus::fenced;
    return outcome;
  }
  if (!check_segment(batch, outcome)) return outcome;
  const std::uint64_t wanted = root->last + batch.page.count + reserve_ahead / 4;
  // Of a run without an owner nothing is shown before its commit.
  const bool looks_ahead = synced && root->is_open && options_.durability == Durability::balanced;
  if (looks_ahead && root->reserved < wanted) {
    root->reserved = root->last + batch.page.count + reserve_ahead;
    database_.run("UPDATE runs SET reserved=?2 WHERE no=?1", root->no, root->reserved);
  }
  const bool is_plain = is_progress(batch);
  const bool is_recent = is_crowded && is_plain && batch.page.bytes.size() <= most_recent_bytes;
  std::tie(outcome.first, outcome.last) = write_page(batch.run, *root, batch.page, is_recent);
  if (!is_plain) write_rows(batch, *root, at, outcome);
  return outcome;
}

bool Backend::accept(const AppendBatch& batch, std::int64_t at, AppendOutcome& outcome) {
  const NewRun& made = *batch.accept;
  const auto principal = find_name(made.principal);
  if (!made.idem_key.empty() && principal) {
    Rows rows = database_.rows("SELECT id, idem_hash FROM runs WHERE principal=?1 AND idem_key=?2",
                               *principal, made.idem_key);
    if (rows.next()) {
      outcome.run = RunId::of_bytes(rows.view(0));
      outcome.status =
          rows.view(1) == made.idem_hash ? AppendStatus::existing : AppendStatus::conflict;
      return false;
    }
  }
  if (number_of(made.id)) {
    outcome.status = AppendStatus::conflict;
    return false;
  }
  const bool may_wait = made.owner.empty() && made.may_wait;
  if (const auto other = may_wait ? std::nullopt : in_thread_of(made)) {
    outcome.run = *other;
    outcome.status = AppendStatus::busy;
    return false;
  }
  if (made.seen && !is_as_seen(made)) {
    outcome.status = AppendStatus::changed;
    return false;
  }
  insert_run(made, at);
  return database_.ok();
}

bool Backend::is_as_seen(const NewRun& made) {
  const SeenThread& seen = *made.seen;
  const auto changes = database_.number("SELECT changes FROM threads WHERE principal=?1 AND id=?2",
                                        find_name(made.principal), made.thread);
  if (changes.has_value() != seen.is_there) return false;
  return !changes || !seen.changes || *changes == *seen.changes;
}

bool Backend::check_segment(const AppendBatch& batch, AppendOutcome& outcome) {
  if (!batch.segment) return true;
  const SegmentRow& made = *batch.segment;
  Rows rows = database_.rows(
      "SELECT r.id, s.body_hash FROM segments s JOIN runs r ON r.no=s.run"
      " WHERE s.principal=?1 AND s.thread=?2 AND s.ag_ui_run=?3",
      name(made.principal), made.thread, made.ag_ui_run);
  if (!rows.next()) return database_.ok();
  outcome.run = RunId::of_bytes(rows.view(0));
  outcome.status = rows.view(1) == made.body_hash ? AppendStatus::existing : AppendStatus::conflict;
  return false;
}

std::pair<std::uint64_t, std::uint64_t> Backend::write_page(const RunId& id, Live& live,
                                                            const journal::Page& page,
                                                            bool is_recent) {
  if (page.count == 0) return {0, 0};
  if (!is_recent) settle(live.no);
  const std::uint64_t first = live.last + 1;
  live.last += page.count;
  live.reserved = std::max(live.reserved, live.last);
  live.hash = chain_.hash(live.hash, id, live.last, page.count, page.bytes);
  PlacedPage placed{{live.last, page.count, page.bytes},
                    journal::checksum_of(page.bytes, id.bytes(), live.last, page.count),
                    live.hash};
  if (is_recent) {
    recent_.add(live.no, std::move(placed));
    is_recent_changed_ = true;
  } else {
    insert_page(live.no, placed);
  }
  return {first, live.last};
}

bool Backend::write_rows(const AppendBatch& batch, Live& root, std::int64_t at,
                         AppendOutcome& outcome) {
  const auto fail = [&](Error error) {
    outcome.status = AppendStatus::failed;
    outcome.error = std::move(error);
    return false;
  };
  bool is_over = false;
  for (const NewRun& child : batch.children) insert_run(child, at);
  for (const RunChange& change : batch.changes) {
    auto row = load_run(change.run);
    if (!row || (change.run != batch.run && row->run.root != batch.run)) {
      return fail(no_run(change.run));
    }
    apply_change(*row, change, at);
    if (row->state != journal::RunState::running) row->reserved = 0;
    if (change.run == batch.run) {
      root.is_open = !is_fenced(*row, row->epoch);
      if (row->reserved == 0) root.reserved = root.last;
    }
    store_run(*row);
    if (!journal::is_over(row->state)) continue;
    is_over = is_over || change.run == batch.run;
    database_.run("UPDATE approvals SET expired=1 WHERE run=?1 AND decided IS NULL",
                  number_of(change.run));
  }
  if (!write_calls(batch, outcome)) return false;
  write_approvals(batch, root);
  if (begins_to_wait(batch)) wake_answered(batch.run, root.no, at);
  write_checkpoints(batch, root);
  if (batch.segment) {
    const SegmentRow& row = *batch.segment;
    database_.run(
        "INSERT INTO segments(run, first, principal, thread, ag_ui_run, body_hash)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        root.no, outcome.first, name(row.principal), row.thread, row.ag_ui_run,
        Bytes{row.body_hash});
  }
  if (!batch.messages.empty() || batch.thread) {
    const auto row = load_run(batch.run);
    if (!row || row->run.thread.empty()) return fail(no_run(batch.run));
    const std::int64_t thread = ensure_thread(row->run.principal, row->run.thread, at);
    if (!batch.messages.empty()) note_change(thread);
    write_messages(thread, batch.messages, root.no);
    if (batch.thread) update_thread(thread, *batch.thread, root.no);
  }
  for (const OutboxRow& row : batch.outbox) {
    database_.run(
        "INSERT INTO outbox(id, run, url, body, tries, next_at) VALUES(?1,?2,?3,?4,?5,?6)", row.id,
        root.no, row.url, Bytes{row.body}, row.tries, row.next_at);
  }
  if (is_over) {
    database_.run("UPDATE outbox SET next_at=?2 WHERE run=?1 AND next_at=?3", root.no, at,
                  after_run);
  }
  return true;
}

bool Backend::write_calls(const AppendBatch& batch, AppendOutcome& outcome) {
  for (const CallRow& row : batch.calls) {
    const auto no = number_of(row.run);
    const auto old =
        database_.number("SELECT state FROM calls WHERE run=?1 AND call=?2", no, row.call);
    Result<void> moved;
    if (!no) moved = no_run(row.run);
    const auto before = static_cast<CallState>(old.value_or(0));
    if (old && before != row.state) moved = journal::check_move(row.call, before, row.state);
    if (!moved) {
      outcome.status = AppendStatus::failed;
      outcome.error = std::move(moved).error();
      return false;
    }
    database_.run(
        "INSERT INTO calls(run, call, kind, name, effect, args, args_hash, state, tries, epoch,"
        " result) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        " ON CONFLICT(run, call) DO UPDATE SET kind=excluded.kind, name=excluded.name,"
        " effect=excluded.effect, args=excluded.args, args_hash=excluded.args_hash,"
        " state=excluded.state, tries=excluded.tries, epoch=excluded.epoch,"
        " result=excluded.result",
        no, row.call, row.kind, name(row.name), row.effect, Bytes{row.args}, Bytes{row.args_hash},
        row.state, row.tries, row.epoch, Bytes{row.result});
  }
  return database_.ok();
}

void Backend::write_approvals(const AppendBatch& batch, const Live& root) {
  if (batch.approvals.empty()) return;
  const std::int64_t at = now();
  for (const ApprovalRow& row : batch.approvals) {
    database_.run(
        "INSERT INTO approvals(id, run, call, kind, principal, args_hash, tools_hash, shown,"
        " expires) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(id) DO NOTHING",
        row.id, root.no, row.call, row.kind, name(row.principal), Bytes{row.args_hash},
        Bytes{row.tools_hash}, Bytes{row.shown}, expiry_of(row, at, options_.clock()));
  }
}

// All that the run could wait for was answered or has expired meanwhile.
void Backend::wake_answered(const RunId& run, std::int64_t no, std::int64_t at) {
  const auto is_open =
      database_.number("SELECT max(decided IS NULL AND expired=0) FROM approvals WHERE run=?1", no);
  auto row = is_open == 0 ? load_run(run) : std::nullopt;
  if (!row) return;
  answer_waiting(*row, at);
  store_run(*row);
}

void Backend::write_checkpoints(const AppendBatch& batch, const Live& root) {
  for (const CheckpointRow& row : batch.checkpoints) {
    const auto no = number_of(row.run);
    // One with its number is damaged, or one before it was: the run went on from an earlier one.
    database_.run("DELETE FROM checkpoints WHERE run=?1 AND number>=?2", no, row.number);
    // A full one alone could not be fallen back from: what is before it goes with the next one.
    if (row.is_full) {
      database_.run(
          "DELETE FROM checkpoints WHERE run=?1 AND number<(SELECT number FROM checkpoints"
          " WHERE run=?1 AND is_full=1 ORDER BY number DESC LIMIT 1)",
          no);
    } else {
      database_.run(
          "DELETE FROM checkpoints WHERE run=?1 AND number<?2 AND EXISTS"
          " (SELECT 1 FROM checkpoints WHERE run=?1 AND number=?2 AND is_full=1)",
          no, row.number - 1);
    }
    const std::uint32_t crc =
        checksum_of_checkpoint(row.run, row.number, root.last, row.is_full, row.data);
    database_.run(
        "INSERT INTO checkpoints(run, number, seq, is_full, data, crc)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        no, row.number, root.last, row.is_full, Bytes{row.data}, crc);
  }
}

}  // namespace millrace::store::sqlite
