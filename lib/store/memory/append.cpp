#include "store/memory/append.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "journal/ledger.hpp"
#include "store/checkpoint_chain.hpp"
#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {
namespace {

void add_checkpoint(std::vector<CheckpointRow>& list, CheckpointRow row) {
  // One with its number is damaged, or one before it was: the run went on from an earlier one.
  std::erase_if(list, [&](const CheckpointRow& old) { return old.number >= row.number; });
  // A full one alone could not be fallen back from: what is before it goes with the next one.
  const auto full = std::find_if(list.rbegin(), list.rend(),
                                 [](const CheckpointRow& old) { return old.is_full; });
  if (full != list.rend() && (row.is_full || full->number == row.number - 1)) {
    list.erase(list.begin(), full.base() - 1);
  }
  row.checksum = checksum_of_checkpoint(row.run, row.number, row.seq, row.is_full, row.data);
  list.push_back(std::move(row));
}

// Everything that can go wrong is looked at before anything changes.
class Append {
 public:
  Append(Tables& tables, const AppendBatch& batch, std::int64_t now, std::int64_t clock)
      : tables_(tables), batch_(batch), now_(now), clock_(clock) {
    outcome_.run = batch.run;
  }

  AppendOutcome run() {
    if (!check_run() || !check_segment() || !check_rows()) return std::move(outcome_);
    if (batch_.accept) {
      tables_.add(row_of(*batch_.accept, now_));
      const NewRun& made = *batch_.accept;
      if (!made.thread.empty()) ensure_thread({made.principal, made.thread});
    }
    RunRow& root = *tables_.find(batch_.run);
    std::tie(outcome_.first, outcome_.last) = tables_.write(root, batch_.page);
    write_rows(root);
    return std::move(outcome_);
  }

 private:
  bool stop(AppendStatus status) {
    outcome_.status = status;
    return false;
  }
  bool fail(Error error) {
    outcome_.error = std::move(error);
    return stop(AppendStatus::failed);
  }

  bool check_run() {
    if (!batch_.accept) {
      const RunRow* row = tables_.find(batch_.run);
      return row != nullptr && !is_fenced(*row, batch_.epoch) ? true : stop(AppendStatus::fenced);
    }
    const NewRun& made = *batch_.accept;
    if (const RunRow* known = tables_.with_key(made.principal, made.idem_key)) {
      outcome_.run = known->run.id;
      const bool is_same = known->run.idem_hash == made.idem_hash;
      return stop(is_same ? AppendStatus::existing : AppendStatus::conflict);
    }
    if (tables_.find(made.id) != nullptr) {
      outcome_.run = made.id;
      return stop(AppendStatus::conflict);
    }
    const bool may_wait = made.owner.empty() && made.may_wait;
    const RunRow* other = may_wait ? nullptr : tables_.in_thread_of(made);
    if (other != nullptr) {
      outcome_.run = other->run.id;
      return stop(AppendStatus::busy);
    }
    return !made.seen || is_as_seen(made) ? true : stop(AppendStatus::changed);
  }

  bool is_as_seen(const NewRun& made) const {
    const auto found = tables_.threads.find({made.principal, made.thread});
    const bool is_there = found != tables_.threads.end();
    if (is_there != made.seen->is_there) return false;
    return !is_there || !made.seen->changes || found->second.changes == *made.seen->changes;
  }

  bool check_segment() {
    if (!batch_.segment) return true;
    const SegmentRow* known = tables_.find_segment(*batch_.segment);
    if (known != nullptr) {
      outcome_.run = known->run;
      const bool is_same = known->body_hash == batch_.segment->body_hash;
      return stop(is_same ? AppendStatus::existing : AppendStatus::conflict);
    }
    return true;
  }

  bool knows(const RunId& run) const {
    if (run == batch_.run) return true;
    const RunRow* row = tables_.find(run);
    if (row != nullptr) return row->run.root == batch_.run;
    return std::any_of(batch_.children.begin(), batch_.children.end(),
                       [&](const NewRun& child) { return child.id == run; });
  }

  bool check_rows() {
    if (batch_.thread && thread_of_run().empty()) return fail(no_run(batch_.run));
    for (const RunChange& change : batch_.changes) {
      if (!knows(change.run)) return fail(no_run(change.run));
    }
    for (const CheckpointRow& row : batch_.checkpoints) {
      if (!knows(row.run)) return fail(no_run(row.run));
    }
    for (const CallRow& row : batch_.calls) {
      if (!knows(row.run)) return fail(no_run(row.run));
      const CallRow* old = tables_.find_call(row.run, row.call);
      if (old == nullptr || old->state == row.state) continue;
      if (auto moved = journal::check_move(row.call, old->state, row.state); !moved) {
        return fail(std::move(moved).error());
      }
    }
    return true;
  }

  std::string_view thread_of_run() const {
    const RunRow* row = tables_.find(batch_.run);
    return batch_.accept ? batch_.accept->thread : row->run.thread;
  }

  void close_approvals(const RunId& run) {
    for (ApprovalRow* row : tables_.approvals_in(run)) {
      if (!row->decided) row->has_expired = true;
    }
  }

  // All that the run could wait for was answered or has expired meanwhile.
  void wake_answered(RunRow& root) {
    const auto approvals = tables_.approvals_in(root.run.id);
    for (const ApprovalRow* row : approvals) {
      if (!row->decided && !row->has_expired) return;
    }
    if (!approvals.empty()) answer_waiting(root, now_);
  }

  void write_rows(RunRow& root) {
    for (const NewRun& child : batch_.children) tables_.add(row_of(child, now_));
    for (const RunChange& change : batch_.changes) {
      RunRow& row = *tables_.find(change.run);
      apply_change(row, change, now_);
      tables_.note_state(row);
      if (journal::is_over(row.state)) close_approvals(row.run.id);
    }
    for (const CallRow& row : batch_.calls) tables_.put_call(row);
    for (ApprovalRow row : batch_.approvals) {
      row.expires = expiry_of(row, now_, clock_);
      tables_.add_approval(row);
    }
    if (begins_to_wait(batch_)) wake_answered(root);
    for (CheckpointRow row : batch_.checkpoints) {
      row.seq = root.last;
      add_checkpoint(tables_.checkpoints[row.run], std::move(row));
    }
    if (batch_.segment) {
      SegmentRow row = *batch_.segment;
      row.run = batch_.run;
      row.first = outcome_.first;
      tables_.add_segment(row);
    }
    if (!batch_.messages.empty()) {
      const Owned thread{root.run.principal, root.run.thread};
      ensure_thread(thread);
      tables_.put_messages(thread, batch_.messages, root.run.id);
    }
    if (batch_.thread) {
      const Owned thread{root.run.principal, root.run.thread};
      ensure_thread(thread);
      tables_.update_thread(thread, *batch_.thread, root.run.id);
    }
    for (const OutboxRow& row : batch_.outbox) tables_.outbox.push_back(row);
    if (!journal::is_over(root.state)) return;
    for (OutboxRow& row : tables_.outbox) {
      if (row.run == batch_.run && row.next_at == after_run) row.next_at = now_;
    }
  }

  void ensure_thread(const Owned& thread) {
    const auto [at, is_new] = tables_.threads.try_emplace(thread);
    if (is_new) {
      at->second.principal = thread.first;
      at->second.id = thread.second;
      at->second.created = now_;
      tables_.note_change(at->second);
    }
    at->second.updated = std::max(at->second.updated, now_);
  }

  Tables& tables_;
  const AppendBatch& batch_;
  std::int64_t now_;
  std::int64_t clock_;
  AppendOutcome outcome_;
};

}  // namespace

AppendOutcome append(Tables& tables, const AppendBatch& batch, std::int64_t now,
                     std::int64_t clock) {
  return Append(tables, batch, now, clock).run();
}

std::vector<AppendOutcome> Backend::append(std::span<const AppendBatch> batches) {
  const std::int64_t at = now();
  const bool asks = std::any_of(batches.begin(), batches.end(),
                                [](const AppendBatch& batch) { return !batch.approvals.empty(); });
  const std::int64_t clock = asks ? clock_() : at;
  std::vector<AppendOutcome> outcomes;
  outcomes.reserve(batches.size());
  std::set<RunId> broken;
  for (const AppendBatch& batch : batches) {
    outcomes.push_back(broken.contains(batch.run) ? behind_failure(batch)
                                                  : memory::append(tables_, batch, at, clock));
    if (outcomes.back().status != AppendStatus::committed) broken.insert(batch.run);
  }
  return outcomes;
}

}  // namespace millrace::store::memory
