// What becomes of old rows: approvals expire, the records of runs that ended take less room and are
// removed later, and blobs that nothing refers to go.
#include <algorithm>

#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

Result<SweepReport> Backend::sweep(const SweepPolicy& policy) {
  const std::int64_t at = now();
  forget_starts(longest_rate);
  SweepReport report;
  for (auto& [id, row] : tables_.approvals) {
    const bool is_late = row.expires != 0 && row.expires <= at;
    if (row.decided || row.has_expired || !is_late) continue;
    row.has_expired = true;
    RunRow& root = *tables_.find(row.run);
    const journal::ApprovalExpired fact{id};
    tables_.write(root, page_of(fact, at));
    answer_waiting(root, at);
    report.expired.push_back({root.run.id, root.last, root.state});
  }
  for (auto& [id, row] : tables_.unfinished) {
    if (!is_client_late(*row, std::min(at, clock_()))) continue;
    answer_waiting(*row, at);
    report.expired.push_back({id, row->last, row->state});
  }
  sweep_records(policy, at, report);
  if (policy.blobs_ms) report.blobs = tables_.remove_blobs(at - *policy.blobs_ms);
  return report;
}

void Backend::sweep_records(const SweepPolicy& policy, std::int64_t at, SweepReport& report) {
  std::size_t runs = policy.most_runs;
  std::size_t room = policy.most_bytes;
  for (const StoredRecords records : {StoredRecords::compact, StoredRecords::whole}) {
    if (!policy.events_ms) break;
    for (RunRow* row : tables_.ended_runs(at - *policy.events_ms, records)) {
      if (runs == 0) break;
      tables_.journals.erase(row->run.id);
      row->records = StoredRecords::removed;
      ++report.journals;
      --runs;
    }
  }
  if (policy.compact_ms) {
    for (RunRow* row : tables_.ended_runs(at - *policy.compact_ms, StoredRecords::whole)) {
      if (runs == 0 || room == 0) break;
      --runs;
      if (!tables_.compact_run(row->run.id, room)) continue;
      row->records = StoredRecords::compact;
      ++report.compacted;
    }
  }
  report.has_more = runs == 0 || room == 0;
}

}  // namespace millrace::store::memory
