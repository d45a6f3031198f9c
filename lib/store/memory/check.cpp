// The search for damage, which a store in memory has by what was loaded into it.
#include "journal/page.hpp"
#include "store/journal_check.hpp"
#include "store/memory/backend_impl.hpp"

namespace millrace::store::memory {

Result<std::vector<Problem>> Backend::check() {
  JournalCheck journals;
  for (const auto& [run, pages] : tables_.journals) {
    for (const ChainedPage& one : pages) {
      const StoredPage& page = one.page;
      journals.add_page(run, page,
                        journal::checksum_of(page.bytes, run.bytes(), page.last, page.count),
                        one.hash);
    }
  }
  for (const auto& [id, row] : tables_.runs) {
    if (!row.run.root) journals.check_run(id, row.state, row.last, row.records);
  }
  journals.check_calls([this](const RunId& run) {
    const auto found = tables_.calls.find(run);
    return found == tables_.calls.end() ? JournalCheck::Calls() : found->second;
  });
  for (const auto& [id, row] : tables_.approvals) journals.check_approval(row);
  for (const auto& [run, rows] : tables_.checkpoints) {
    for (const CheckpointRow& row : rows) journals.check_checkpoint(row);
  }
  journals.check_last_checkpoints();
  return journals.take();
}

}  // namespace millrace::store::memory
