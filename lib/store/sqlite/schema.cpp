#include "store/sqlite/schema.hpp"

#include <array>
#include <cstddef>
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

constexpr const char* lanes_schema = R"sql(
ALTER TABLE runs ADD COLUMN lane INTEGER NOT NULL DEFAULT 1 CHECK(lane BETWEEN 0 AND 3);
-- Runs that a job began, which are known by its keys for them.
UPDATE runs SET lane = 3 WHERE root IS NULL AND idem_key GLOB 'run_*/run:*#*';
DROP INDEX runs_claim;
CREATE INDEX runs_claim ON runs(name, lane, run_at) WHERE root IS NULL AND owner IS NULL AND state IN (0, 1, 3, 4);
CREATE INDEX runs_working ON runs(name, principal) WHERE root IS NULL AND owner IS NOT NULL AND state = 1;
CREATE INDEX runs_queued ON runs(thread) WHERE root IS NULL AND thread IS NOT NULL AND state = 0;
)sql";

// Releases before it would read pages in less room as damage, and write pages without a hash.
constexpr const char* retention_schema = R"sql(
ALTER TABLE journal ADD COLUMN hash BLOB;
ALTER TABLE messages ADD COLUMN run INTEGER;
ALTER TABLE threads ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN records INTEGER NOT NULL DEFAULT 0 CHECK(records BETWEEN 0 AND 2);
-- Those whose records an earlier release removed.
UPDATE runs SET records = 2 WHERE root IS NULL AND ended IS NOT NULL AND last > 0
  AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.run = runs.no);
DROP INDEX runs_ended;
CREATE INDEX runs_records ON runs(records, ended) WHERE ended IS NOT NULL AND root IS NULL AND records < 2;
UPDATE meta SET v = 3 WHERE k = 'min_reader';
)sql";

// What is listed is read from an index in its order, whatever the store holds.
constexpr const char* lists_schema = R"sql(
DROP INDEX runs_list;
CREATE INDEX runs_list ON runs(principal, state, created, id, root);
CREATE INDEX runs_new ON runs(state, created, id, root);
CREATE INDEX runs_thread ON runs(thread, state, created, id, root) WHERE thread IS NOT NULL;
CREATE INDEX runs_owner ON runs(owner) WHERE owner IS NOT NULL;
CREATE INDEX threads_id ON threads(id);
CREATE INDEX attachments_thread ON attachments(principal, thread);
CREATE INDEX blobs_created ON blobs(created);
CREATE INDEX outbox_run ON outbox(run);
CREATE TABLE key_uses(key TEXT PRIMARY KEY, day INTEGER NOT NULL, requests INTEGER NOT NULL,
  free_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE attachment_uses(thread INTEGER NOT NULL, attachment TEXT NOT NULL, PRIMARY KEY(thread, attachment))
  WITHOUT ROWID;
CREATE INDEX attachment_uses_of ON attachment_uses(attachment);
INSERT OR IGNORE INTO attachment_uses SELECT m.thread, json_extract(f.value, '$.uid') FROM messages m,
  json_each(iif(json_valid(CAST(m.json AS TEXT)), CAST(m.json AS TEXT), '{}'), '$.attachments') f
  WHERE f.type = 'object' AND json_type(f.value, '$.uid') = 'text';
-- Their ids belong to a principal. An earlier release would not write whose they are.
ALTER TABLE artifacts RENAME TO artifacts_before;
CREATE TABLE artifacts(principal INTEGER NOT NULL, id TEXT NOT NULL, thread INTEGER NOT NULL, type TEXT NOT NULL,
  title TEXT NOT NULL, updated INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY(principal, id));
INSERT INTO artifacts SELECT t.principal, a.id, a.thread, a.type, a.title, a.updated, a.content
  FROM artifacts_before a JOIN threads t ON t.n=a.thread;
DROP TABLE artifacts_before;
CREATE INDEX artifacts_thread ON artifacts(thread);
UPDATE meta SET v = 4 WHERE k = 'min_reader';
)sql";

// Earlier releases write checkpoints without a checksum, which are valid.
constexpr const char* checksums_schema = R"sql(
ALTER TABLE checkpoints ADD COLUMN crc INTEGER;
CREATE TABLE starts(at INTEGER NOT NULL, name INTEGER NOT NULL, principal INTEGER NOT NULL);
CREATE INDEX starts_at ON starts(at);
)sql";

#define MILLRACE_RECENT_TABLE \
  "CREATE TABLE recent(n INTEGER PRIMARY KEY, crc INTEGER NOT NULL, pages BLOB NOT NULL);"

// Releases before it would not find the pages in it.
constexpr const char* recent_schema = MILLRACE_RECENT_TABLE R"sql(
UPDATE meta SET v = 6 WHERE k = 'min_reader';
)sql";

// Runs that wait for a client are few among those that wait.
constexpr const char* clients_schema = R"sql(
CREATE INDEX runs_client ON runs(deadline) WHERE deadline IS NOT NULL AND state = 2;
)sql";

// Earlier releases do not raise it, which nothing sees: who compares it is of the process that
// has the file.
constexpr const char* changes_schema = R"sql(
ALTER TABLE threads ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
)sql";

// Row n brings a file of version n to n + 1.
constexpr std::array migrations{first_schema,     lanes_schema,  retention_schema, lists_schema,
                                checksums_schema, recent_schema, clients_schema,   changes_schema};
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

void renew_recent_table(Database& database) {
  database.script(
      "PRAGMA writable_schema=ON;"
      "DELETE FROM sqlite_schema WHERE type='table' AND name='recent';"
      "PRAGMA writable_schema=RESET;" MILLRACE_RECENT_TABLE);
}

Result<void> check_schema(Database& database, bool is_read_only) {
  auto version = version_of(database);
  if (!version) return std::move(version).error();
  if (version.value() == 0) return foreign();
  if (version.value() == schema_version || !is_read_only) return {};
  return make_error(
      Errc::invalid_state,
      "The store is of an older release. Open it once with this one, and not only for "
      "reading: that brings it up to date.");
}

}  // namespace millrace::store::sqlite
