#include "store/memory/append.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "journal/ledger.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {
namespace {

// Everything that can go wrong is looked at before anything changes.
class Append {
 public:
  Append(Tables& tables, const AppendBatch& batch, std::int64_t now)
      : tables_(tables), batch_(batch), now_(now) {
    outcome_.run = batch.run;
  }

  AppendOutcome run() {
    if (!check_run() || !check_segment() || !check_rows()) return std::move(outcome_);
    if (batch_.accept) {
      tables_.runs[batch_.run] = row_of(*batch_.accept, now_);
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
    for (const auto& [id, row] : tables_.runs) {
      const bool has_key = !made.idem_key.empty() && row.run.idem_key == made.idem_key &&
                           row.run.principal == made.principal;
      if (!has_key && id != made.id) continue;
      outcome_.run = id;
      const bool is_same = has_key && row.run.idem_hash == made.idem_hash;
      return stop(is_same ? AppendStatus::existing : AppendStatus::conflict);
    }
    if (made.owner.empty()) return true;
    const RunRow* other = tables_.at_work_in(made);
    if (other == nullptr) return true;
    outcome_.run = other->run.id;
    return stop(AppendStatus::busy);
  }

  bool check_segment() {
    if (!batch_.segment) return true;
    for (const SegmentRow& row : tables_.segments) {
      const SegmentRow& made = *batch_.segment;
      if (row.principal != made.principal || row.thread != made.thread ||
          row.ag_ui_run != made.ag_ui_run) {
        continue;
      }
      outcome_.run = row.run;
      return stop(row.body_hash == made.body_hash ? AppendStatus::existing
                                                  : AppendStatus::conflict);
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
    for (const RunChange& change : batch_.changes) {
      if (!knows(change.run)) return fail(no_run(change.run));
    }
    for (const CheckpointRow& row : batch_.checkpoints) {
      if (!knows(row.run)) return fail(no_run(row.run));
    }
    for (const CallRow& row : batch_.calls) {
      if (!knows(row.run)) return fail(no_run(row.run));
      const CallRow* old = call(row.run, row.call);
      if (old == nullptr || old->state == row.state) continue;
      if (auto moved = journal::check_move(row.call, old->state, row.state); !moved) {
        return fail(std::move(moved).error());
      }
    }
    return true;
  }

  CallRow* call(const RunId& run, std::string_view name) const {
    const auto found = tables_.calls.find(run);
    if (found == tables_.calls.end()) return nullptr;
    for (CallRow& row : found->second) {
      if (row.call == name) return &row;
    }
    return nullptr;
  }

  void close_approvals(const RunId& run) {
    for (auto& [id, row] : tables_.approvals) {
      if (row.run == run && !row.decided) row.has_expired = true;
    }
  }

  void write_rows(RunRow& root) {
    for (const NewRun& child : batch_.children) tables_.runs[child.id] = row_of(child, now_);
    for (const RunChange& change : batch_.changes) {
      RunRow& row = *tables_.find(change.run);
      apply_change(row, change, now_);
      if (journal::is_over(row.state)) close_approvals(row.run.id);
    }
    for (const CallRow& row : batch_.calls) {
      if (CallRow* old = call(row.run, row.call)) {
        *old = row;
      } else {
        tables_.calls[row.run].push_back(row);
      }
    }
    for (const ApprovalRow& row : batch_.approvals) tables_.approvals.try_emplace(row.id, row);
    for (CheckpointRow row : batch_.checkpoints) {
      row.seq = root.last;
      auto& list = tables_.checkpoints[row.run];
      if (row.is_full) list.clear();
      list.push_back(std::move(row));
    }
    if (batch_.segment) {
      SegmentRow& row = tables_.segments.emplace_back(*batch_.segment);
      row.run = batch_.run;
      row.first = outcome_.first;
    }
    if (!batch_.messages.empty()) {
      const Owned thread{root.run.principal, root.run.thread};
      ensure_thread(thread);
      tables_.put_messages(thread, batch_.messages);
    }
    for (const OutboxRow& row : batch_.outbox) tables_.outbox.push_back(row);
  }

  void ensure_thread(const Owned& thread) {
    const auto [at, is_new] = tables_.threads.try_emplace(thread);
    if (is_new) {
      at->second.principal = thread.first;
      at->second.id = thread.second;
      at->second.created = now_;
    }
    at->second.updated = now_;
  }

  Tables& tables_;
  const AppendBatch& batch_;
  std::int64_t now_;
  AppendOutcome outcome_;
};

}  // namespace

AppendOutcome append(Tables& tables, const AppendBatch& batch, std::int64_t now) {
  return Append(tables, batch, now).run();
}

}  // namespace millrace::store::memory
