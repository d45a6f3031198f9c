// Messages that wait to be sent.
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

OutboxRow read_outbox(const Rows& rows) {
  return {rows.text(0),  RunId::of_bytes(rows.view(1)), rows.text(2), rows.text(3), rows.number(4),
          rows.number(5)};
}

}  // namespace

Result<std::vector<OutboxRow>> Backend::outbox(std::size_t most) {
  std::vector<OutboxRow> found;
  Rows rows = database_.rows(
      "SELECT o.id, r.id, o.url, o.body, o.tries, o.next_at FROM outbox o JOIN runs r ON r.no=o.run"
      " WHERE o.next_at<=?1 ORDER BY o.next_at LIMIT ?2",
      now(), most);
  while (rows.next()) found.push_back(read_outbox(rows));
  return finish(std::move(found));
}

Result<std::vector<OutboxRow>> Backend::open_outbox(std::size_t most) {
  std::vector<OutboxRow> found;
  Rows rows = database_.rows(
      "SELECT o.id, r.id, o.url, o.body, o.tries, o.next_at FROM outbox o JOIN runs r ON r.no=o.run"
      " WHERE o.next_at=?1 AND o.url='' ORDER BY o.id LIMIT ?2",
      after_run, most);
  while (rows.next()) found.push_back(read_outbox(rows));
  return finish(std::move(found));
}

Result<std::optional<std::int64_t>> Backend::next_outbox() {
  return finish(database_.number("SELECT next_at FROM outbox ORDER BY next_at LIMIT 1"));
}

Result<void> Backend::settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  if (next_at) {
    database_.run("UPDATE outbox SET tries=tries+1, next_at=?2 WHERE id=?1", id, *next_at);
  } else {
    database_.run("DELETE FROM outbox WHERE id=?1", id);
  }
  return finish();
}

Result<bool> Backend::change_outbox(const OutboxRow& row, std::string_view body,
                                    std::span<const OutboxRow> added) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  if (body.empty()) {
    database_.run("DELETE FROM outbox WHERE id=?1 AND body=?2", row.id, Bytes{row.body});
  } else {
    database_.run("UPDATE outbox SET body=?3 WHERE id=?1 AND body=?2", row.id, Bytes{row.body},
                  Bytes{body});
  }
  if (!database_.ok() || database_.changes() == 0) return finish(false);
  for (const OutboxRow& one : added) {
    database_.run(
        "INSERT INTO outbox(id, run, url, body, tries, next_at) VALUES(?1,?2,?3,?4,?5,?6)", one.id,
        number_of(row.run), one.url, Bytes{one.body}, one.tries, one.next_at);
  }
  transaction.commit();
  return finish(true);
}

}  // namespace millrace::store::sqlite
