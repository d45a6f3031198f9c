// What is read of a store without reading all of it: a run by its key, parts of files, counts.
#include <algorithm>
#include <optional>
#include <string>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

// A handle to the bytes of one row, which are not loaded with it.
class BlobHandle {
 public:
  BlobHandle(Database& database, std::int64_t row) {
    const int code = sqlite3_blob_open(database.handle(), "main", "blobs", "data", row, 0, &blob_);
    if (code != SQLITE_OK) database.fail(code, sqlite3_errmsg(database.handle()));
  }
  ~BlobHandle() { sqlite3_blob_close(blob_); }
  BlobHandle(const BlobHandle&) = delete;
  BlobHandle& operator=(const BlobHandle&) = delete;

  [[nodiscard]] std::string read(Database& database, std::uint64_t from, std::size_t most) const {
    if (!database.ok()) return {};
    const auto size = static_cast<std::uint64_t>(sqlite3_blob_bytes(blob_));
    if (from >= size) return {};
    std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(most, size - from)), '\0');
    const int code = sqlite3_blob_read(blob_, bytes.data(), static_cast<int>(bytes.size()),
                                       static_cast<int>(from));
    if (code != SQLITE_OK) database.fail(code, sqlite3_errmsg(database.handle()));
    return bytes;
  }

 private:
  sqlite3_blob* blob_ = nullptr;
};

}  // namespace

Result<std::optional<RunRow>> Backend::run_with_key(std::string_view principal,
                                                    std::string_view key) {
  std::optional<RunRow> found;
  if (key.empty()) return finish(std::move(found));
  Rows rows = database_.rows(MILLRACE_SELECT_RUN " WHERE r.principal=?1 AND r.idem_key=?2",
                             find_name(principal), key);
  if (rows.next()) {
    found = read_run(rows);
    add_recent(*found, rows.number(number_column));
  }
  return finish(std::move(found));
}

Result<std::optional<std::string>> Backend::blob_part(std::string_view hash, std::uint64_t from,
                                                      std::size_t most) {
  std::optional<std::string> found;
  const auto row = database_.number("SELECT rowid FROM blobs WHERE hash=unhex(?1)", hash);
  if (row) found = BlobHandle(database_, *row).read(database_, from, most);
  return finish(std::move(found));
}

// A message that is no JSON is none, as everywhere else.
Result<TurnCount> Backend::count_turns(std::string_view principal, std::string_view thread) {
  TurnCounter counter;
  Rows rows = database_.rows(
      "SELECT json_extract(text, '$.role'), iif(json_type(text, '$.run')='text',"
      " json_extract(text, '$.run'), '') FROM (SELECT place,"
      " CASE WHEN json_valid(CAST(json AS TEXT)) THEN CAST(json AS TEXT) END AS text"
      " FROM messages WHERE thread=?1) ORDER BY place",
      find_thread(principal, thread));
  while (rows.next()) counter.add(rows.view(0), rows.view(1));
  return finish(counter.take());
}

}  // namespace millrace::store::sqlite
