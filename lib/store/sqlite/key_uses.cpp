// What was used of the limits of keys.
#include <utility>
#include <vector>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"

namespace millrace::store::sqlite {

// It may be lost by a power cut, so that counting costs no sync but the first, which notes that the
// log has such commits from then on.
Result<std::vector<KeyUseRow>> Backend::spend(std::span<const KeySpending> spent) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(!has_unsynced_);
  std::vector<KeyUseRow> totals;
  {
    Transaction transaction(database_);
    if (!has_unsynced_ && options_.durability == Durability::full) {
      database_.run("UPDATE meta SET v=?1 WHERE k='durability'", Durability::balanced);
    }
    for (const KeySpending& more : spent) {
      KeyUseRow row;
      row.key = more.key;
      {
        Rows rows =
            database_.rows("SELECT day, requests, free_at FROM key_uses WHERE key=?1", more.key);
        if (rows.next()) {
          row.day = rows.number(0);
          row.requests = rows.number(1);
          row.free_at_us = rows.number(2);
        }
      }
      add_spending(row, more, at);
      database_.run("REPLACE INTO key_uses(key, day, requests, free_at) VALUES(?1, ?2, ?3, ?4)",
                    row.key, row.day, row.requests, row.free_at_us);
      totals.push_back(std::move(row));
    }
    transaction.commit();
  }
  has_unsynced_ = has_unsynced_ || database_.ok();
  return finish(std::move(totals));
}

}  // namespace millrace::store::sqlite
