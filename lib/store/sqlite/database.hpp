// One connection to an SQLite file. The first failure stays: what follows does nothing until
// take_error() was called, so that a transaction is written without a check at each line.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/result.hpp"

namespace millrace::store::sqlite {

// Bytes and texts are kept apart by SQLite: a blob never equals a text.
struct Bytes {
  std::string_view view;
};

// The newest that has lost data, and one that was withdrawn.
Result<void> check_version(int version);

class Database;

// The rows of one query. Not more than one at a time of the same query.
class Rows {
 public:
  Rows(Database& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool next();
  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe(int column) const;
  // A text or a blob; "" for NULL. Lifetime: until the next row.
  [[nodiscard]] std::string_view view(int column) const;
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }

 private:
  Database& database_;
  sqlite3_stmt* statement_;
};

// Thread: one at a time.
class Database {
 public:
  Database() = default;
  ~Database() { close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `vfs` is "" for the system's.
  Result<void> open(const std::string& path, int flags, const std::string& vfs);
  void close();
  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }

  // Statements are kept by the address of their text, which must be a literal.
  template <class... Values>
  void run(const char* sql, const Values&... values) {
    Rows rows = this->rows(sql, values...);
    while (rows.next()) {
    }
  }
  template <class... Values>
  Rows rows(const char* sql, const Values&... values) {
    sqlite3_stmt* statement = prepared(sql);
    [[maybe_unused]] int at = 0;  // without values
    (bind(statement, ++at, values), ...);
    return Rows(*this, statement);
  }
  // The first column of the first row, or nothing.
  template <class... Values>
  std::optional<std::int64_t> number(const char* sql, const Values&... values) {
    Rows rows = this->rows(sql, values...);
    return rows.next() ? rows.maybe(0) : std::nullopt;
  }
  // Several statements without parameters.
  void script(const char* sql);

  [[nodiscard]] bool ok() const { return code_ == SQLITE_OK; }
  // SQLite's extended result code of the first failure.
  [[nodiscard]] int code() const { return code_; }
  // The first failure as an error; forgets it.
  Error take_error();
  void fail(int code, std::string message);
  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(handle_); }
  [[nodiscard]] std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  // What is written now is undone.
  [[nodiscard]] bool is_in_snapshot() const { return is_in_snapshot_; }

 private:
  friend class Rows;
  friend class Snapshot;
  sqlite3_stmt* prepared(const char* sql);
  void note(int code);
  void note_bind(int code);
  void bind(sqlite3_stmt* statement, int at, std::int64_t value);
  void bind(sqlite3_stmt* statement, int at, std::string_view value);
  void bind(sqlite3_stmt* statement, int at, const Bytes& value);
  void bind(sqlite3_stmt* statement, int at, std::nullopt_t value);
  template <class Value>
  void bind(sqlite3_stmt* statement, int at, const std::optional<Value>& value) {
    if (value) {
      bind(statement, at, *value);
    } else {
      bind(statement, at, std::nullopt);
    }
  }
  template <class Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void bind(sqlite3_stmt* statement, int at, Number value) {
    bind(statement, at, static_cast<std::int64_t>(value));
  }
  void bind(sqlite3_stmt* statement, int at, const std::string& value) {
    bind(statement, at, std::string_view(value));
  }
  void bind(sqlite3_stmt* statement, int at, const char* value) {
    bind(statement, at, std::string_view(value));
  }

  sqlite3* handle_ = nullptr;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;
  int code_ = SQLITE_OK;
  std::string message_;
  bool is_in_snapshot_ = false;
};

// What several queries read as of one moment. One within another, or within a transaction, is a
// part of it.
class Snapshot {
 public:
  explicit Snapshot(Database& database);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database& database_;
  bool is_own_;
};

// While it lives, a lock of somebody else's is waited for a second, not fifteen.
class BriefWait {
 public:
  explicit BriefWait(Database& database);
  ~BriefWait();
  BriefWait(const BriefWait&) = delete;
  BriefWait& operator=(const BriefWait&) = delete;

 private:
  Database& database_;
};

// BEGIN IMMEDIATE to COMMIT; rolls back when it ends without.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.run("BEGIN IMMEDIATE");
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  // False when anything failed since it began.
  bool commit();

 private:
  Database& database_;
  bool is_over_ = false;
};

}  // namespace millrace::store::sqlite
