#include "store/sqlite/database.hpp"

#include <utility>

namespace millrace::store::sqlite {
namespace {

constexpr int oldest_version = 3051003;  // before it, commits could be lost when a WAL was reset
constexpr int withdrawn_version = 3052000;
// Another program may look at the file, and some lock it for writing meanwhile.
constexpr int busy_timeout_ms = 15'000;
constexpr int brief_timeout_ms = 1000;

Errc errc_of(int code) {
  if (code == SQLITE_READONLY_DBMOVED) return Errc::store_moved;
  if (code == SQLITE_IOERR_SHORT_READ) return Errc::store_damaged;
  switch (code & 0xFF) {
    case SQLITE_FULL: return Errc::store_full;
    case SQLITE_CORRUPT: return Errc::store_damaged;
    case SQLITE_NOTADB: return Errc::store_foreign;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Errc::store_in_use;
    default: return Errc::store_failed;
  }
}

}  // namespace

Result<void> check_version(int version) {
  if (version >= oldest_version && version != withdrawn_version) return {};
  return make_error(
      Errc::store_failed,
      "SQLite " + std::to_string(version) +
          " can lose committed data; the store needs 3.51.3 or newer, and not 3.52.0.");
}

Rows::~Rows() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Rows::next() {
  if (statement_ == nullptr || !database_.ok()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.note(code);
  return false;
}

std::int64_t Rows::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

bool Rows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::optional<std::int64_t> Rows::maybe(int column) const {
  return is_null(column) ? std::nullopt : std::optional(number(column));
}

std::string_view Rows::view(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<void> Database::open(const std::string& path, int flags, const std::string& vfs) {
  close();
  MILLRACE_TRY(check_version(sqlite3_libversion_number()));
  const int code =
      sqlite3_open_v2(path.c_str(), &handle_, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (code != SQLITE_OK) {
    note(code);
    Error error = take_error();
    close();
    return error;
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, busy_timeout_ms);
  // Without it a statement whose values could fit the condition of an index is compiled again each
  // time that it gets other values. Such conditions are written out in our statements.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_QPSG, 1, nullptr);
  return {};
}

void Database::close() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  statements_.clear();
  sqlite3_close_v2(std::exchange(handle_, nullptr));
  code_ = SQLITE_OK;
  message_.clear();
}

BriefWait::BriefWait(Database& database) : database_(database) {
  sqlite3_busy_timeout(database_.handle(), brief_timeout_ms);
}

BriefWait::~BriefWait() {
  sqlite3_busy_timeout(database_.handle(), busy_timeout_ms);
}

void Database::script(const char* sql) {
  if (!ok()) return;
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    note(code);
  }
}

sqlite3_stmt* Database::prepared(const char* sql) {
  // A store that could not be opened anew is not an empty one.
  if (handle_ == nullptr) fail(SQLITE_CANTOPEN, "the file is not open");
  if (!ok()) return nullptr;
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int code =
        sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) note(code);
  }
  return statement;
}

void Database::note(int code) {
  fail(code, handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
}

void Database::fail(int code, std::string message) {
  if (!ok()) return;
  code_ = code;
  message_ = std::move(message);
}

Error Database::take_error() {
  const int code = std::exchange(code_, SQLITE_OK);
  return make_error(errc_of(code), {},
                    std::exchange(message_, {}) + " (" + std::to_string(code) + ")");
}

void Database::bind(sqlite3_stmt* statement, int at, std::int64_t value) {
  if (ok()) note_bind(sqlite3_bind_int64(statement, at, value));
}

void Database::bind(sqlite3_stmt* statement, int at, std::string_view value) {
  // A null pointer would be NULL.
  const char* text = value.data() != nullptr ? value.data() : "";
  if (!ok()) return;
  note_bind(sqlite3_bind_text64(statement, at, text, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Database::bind(sqlite3_stmt* statement, int at, const Bytes& value) {
  const char* bytes = value.view.data() != nullptr ? value.view.data() : "";
  if (!ok()) return;
  note_bind(sqlite3_bind_blob64(statement, at, bytes, value.view.size(), SQLITE_TRANSIENT));
}

void Database::bind(sqlite3_stmt* statement, int at, std::nullopt_t /*value*/) {
  if (ok()) note_bind(sqlite3_bind_null(statement, at));
}

void Database::note_bind(int code) {
  if (code != SQLITE_OK) note(code);
}

Snapshot::Snapshot(Database& database)
    : database_(database), is_own_(sqlite3_get_autocommit(database.handle()) != 0) {
  if (!is_own_) return;
  database_.run("BEGIN");
  database_.is_in_snapshot_ = true;
}

Snapshot::~Snapshot() {
  if (!is_own_) return;
  database_.is_in_snapshot_ = false;
  if (sqlite3_get_autocommit(database_.handle()) != 0) return;
  sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Transaction::~Transaction() {
  if (is_over_ || sqlite3_get_autocommit(database_.handle()) != 0) return;
  sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

bool Transaction::commit() {
  database_.run("COMMIT");
  is_over_ = database_.ok();
  return is_over_;
}

}  // namespace millrace::store::sqlite
