#include "store/sqlite/schema.hpp"

#include <array>
#include <string>

namespace millrace::store::sqlite {
namespace {

// Large rows are in tables with a rowid: trees without one carry their payload in inner pages.
constexpr const char* first_schema = R"sql(
CREATE TABLE meta(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE names(n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE threads(n INTEGER PRIMARY KEY, principal INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, extra BLOB NOT NULL, UNIQUE(principal, id));
CREATE INDEX threads_new ON threads(principal, updated, id);
CREATE TABLE messages(n INTEGER PRIMARY KEY, thread INTEGER NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL,
  json BLOB NOT NULL, UNIQUE(thread, place), UNIQUE(thread, id));
CREATE TABLE artifacts(id TEXT PRIMARY KEY, thread INTEGER NOT NULL, type TEXT NOT NULL, title TEXT NOT NULL,
  updated INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX artifacts_thread ON artifacts(thread);
CREATE TABLE blobs(hash BLOB PRIMARY KEY, created INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE attachments(id TEXT PRIMARY KEY, principal INTEGER NOT NULL, thread TEXT NOT NULL, name TEXT NOT NULL,
  media TEXT NOT NULL, hash BLOB NOT NULL, created INTEGER NOT NULL);
CREATE INDEX attachments_hash ON attachments(hash);
CREATE TABLE runs(no INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, name INTEGER NOT NULL,
  version TEXT, plan_hash BLOB, thread INTEGER, principal INTEGER NOT NULL, root INTEGER, parent BLOB, parent_call TEXT,
  state INTEGER NOT NULL CHECK(state BETWEEN 0 AND 8), owner TEXT, epoch INTEGER NOT NULL, last INTEGER NOT NULL,
  reserved INTEGER NOT NULL, step INTEGER NOT NULL, attempts INTEGER NOT NULL, recoveries INTEGER NOT NULL,
  run_at INTEGER NOT NULL, deadline INTEGER, stop INTEGER NOT NULL, idem_key TEXT, idem_hash BLOB,
  created INTEGER NOT NULL, ended INTEGER, head BLOB);
CREATE INDEX runs_claim ON runs(name, run_at) WHERE root IS NULL AND owner IS NULL AND state IN (0, 1, 3, 4);
CREATE INDEX runs_due ON runs(run_at) WHERE root IS NULL AND state IN (0, 3);
CREATE UNIQUE INDEX runs_idem ON runs(principal, idem_key) WHERE idem_key IS NOT NULL;
CREATE UNIQUE INDEX runs_single ON runs(thread) WHERE root IS NULL AND thread IS NOT NULL AND state IN (1, 2);
CREATE INDEX runs_list ON runs(principal, created);
CREATE INDEX runs_root ON runs(root) WHERE root IS NOT NULL;
CREATE INDEX runs_ended ON runs(ended) WHERE ended IS NOT NULL AND root IS NULL;
CREATE TABLE segments(run INTEGER NOT NULL, first INTEGER NOT NULL, principal INTEGER NOT NULL, thread TEXT NOT NULL,
  ag_ui_run TEXT NOT NULL, body_hash BLOB NOT NULL, PRIMARY KEY(run, first),
  UNIQUE(principal, ag_ui_run, thread)) WITHOUT ROWID;
CREATE TABLE journal(n INTEGER PRIMARY KEY, run INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
  crc INTEGER NOT NULL, page BLOB NOT NULL);
CREATE UNIQUE INDEX journal_seq ON journal(run, last);
CREATE TABLE checkpoints(run INTEGER NOT NULL, number INTEGER NOT NULL, seq INTEGER NOT NULL, is_full INTEGER NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY(run, number));
CREATE TABLE calls(n INTEGER PRIMARY KEY, run INTEGER NOT NULL, call TEXT NOT NULL, kind INTEGER NOT NULL,
  name INTEGER NOT NULL, effect INTEGER NOT NULL, args BLOB, args_hash BLOB,
  state INTEGER NOT NULL CHECK(state BETWEEN 0 AND 7), tries INTEGER NOT NULL, epoch INTEGER NOT NULL, result BLOB,
  UNIQUE(run, call));
CREATE TABLE approvals(id TEXT PRIMARY KEY, run INTEGER NOT NULL, call TEXT NOT NULL, kind INTEGER NOT NULL,
  principal INTEGER NOT NULL, args_hash BLOB, tools_hash BLOB, shown BLOB NOT NULL, expires INTEGER NOT NULL,
  decided INTEGER, decision BLOB, decided_by TEXT, expired INTEGER NOT NULL DEFAULT 0);
CREATE INDEX approvals_open ON approvals(principal) WHERE decided IS NULL AND expired = 0;
CREATE INDEX approvals_due ON approvals(expires) WHERE decided IS NULL AND expired = 0 AND expires <> 0;
CREATE INDEX approvals_run ON approvals(run);
CREATE TABLE outbox(id TEXT PRIMARY KEY, run INTEGER NOT NULL, url TEXT NOT NULL, body BLOB NOT NULL,
  tries INTEGER NOT NULL, next_at INTEGER NOT NULL);
CREATE INDEX outbox_due ON outbox(next_at);
INSERT INTO meta VALUES('min_reader', 1), ('clock_high', 0), ('open_epoch', 0);
)sql";

// Row n brings a file of version n to n + 1.
constexpr std::array migrations{first_schema};
static_assert(migrations.size() == schema_version);

Error foreign() {
  return make_error(Errc::store_foreign, "The file is a database, but not a store of Millrace.");
}

// The version of the file's tables; 0 for a file without any.
Result<std::int64_t> version_of(Database& database) {
  const auto id = database.number("PRAGMA application_id");
  const auto version = database.number("PRAGMA user_version");
  const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (!database.ok()) return database.take_error();
  if (*id == 0 && *version == 0 && *tables == 0) return std::int64_t{0};
  if (*id != application_id) return foreign();
  if (*version <= schema_version) return *version;
  const auto reader = database.number("SELECT v FROM meta WHERE k='min_reader'");
  if (!database.ok()) return database.take_error();
  if (reader && *reader <= schema_version) return schema_version;
  return make_error(Errc::store_newer, "The store has version " + std::to_string(*version) +
                                           "; this release knows " +
                                           std::to_string(schema_version) + ".");
}

}  // namespace

Result<void> migrate(Database& database) {
  auto version = version_of(database);
  if (!version) return std::move(version).error();
  for (std::int64_t from = version.value(); from < schema_version; ++from) {
    Transaction transaction(database);
    database.script(migrations[static_cast<std::size_t>(from)]);
    database.script("PRAGMA application_id=0x4D6C7243");
    const std::string set = "PRAGMA user_version=" + std::to_string(from + 1);
    database.script(set.c_str());
    transaction.commit();
    if (!database.ok()) return database.take_error();
  }
  return {};
}

Result<void> check_schema(Database& database) {
  auto version = version_of(database);
  if (!version) return std::move(version).error();
  return version.value() == 0 ? Result<void>(foreign()) : Result<void>();
}

}  // namespace millrace::store::sqlite
