// Deletion, and what is counted.
#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

Result<void> Backend::delete_run(const RunId& root) {
  const RunRow* row = tables_.find(root);
  if (row == nullptr || row->run.root) return no_run(root);
  tables_.erase_messages(*row);
  tables_.erase_run(root);
  return {};
}

Result<void> Backend::backup(const std::string& /*path*/) {
  return make_error(Errc::invalid_state, "A store in memory has no file to back up.");
}

Result<std::vector<KeyUseRow>> Backend::spend(std::span<const KeySpending> spent) {
  std::vector<KeyUseRow> totals;
  for (const KeySpending& more : spent) {
    KeyUseRow& row = tables_.key_uses[more.key];
    row.key = more.key;
    add_spending(row, more, now());
    totals.push_back(row);
  }
  return totals;
}

}  // namespace millrace::store::memory
