// Threads, their messages, artifacts and attachments.
#include <string>

#include "base/sha256.hpp"
#include "store/sqlite/backend_impl.hpp"

namespace millrace::store::sqlite {
namespace {

Error no_thread(std::string_view id) {
  return make_error(Errc::invalid_argument, "There is no thread '" + std::string(id) + "'.");
}

ThreadRow read_thread(const Rows& rows, std::string_view principal) {
  return {std::string(principal), rows.text(0),   rows.text(1),
          rows.number(2),         rows.number(3), rows.text(4)};
}

}  // namespace

Result<void> Backend::put_thread(const ThreadRow& thread) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  database_.run(
      "INSERT INTO threads(principal, id, title, created, updated, extra)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(principal, id) DO UPDATE SET"
      " title=excluded.title, updated=excluded.updated, extra=excluded.extra",
      name(thread.principal), thread.id, thread.title, thread.created, thread.updated,
      Bytes{thread.extra});
  transaction.commit();
  return finish();
}

Result<std::optional<ThreadRow>> Backend::thread(std::string_view principal, std::string_view id) {
  Rows rows = database_.rows(
      "SELECT id, title, created, updated, extra FROM threads WHERE principal=?1 AND id=?2",
      find_name(principal), id);
  std::optional<ThreadRow> found;
  if (rows.next()) found = read_thread(rows, principal);
  return finish(std::move(found));
}

Result<std::vector<ThreadRow>> Backend::threads(std::string_view principal, std::string_view before,
                                                std::size_t limit) {
  std::optional<std::int64_t> edge;
  if (!before.empty()) {
    edge = database_.number("SELECT updated FROM threads WHERE principal=?1 AND id=?2",
                            find_name(principal), before);
  }
  std::vector<ThreadRow> found;
  if (!before.empty() && !edge) return finish(std::move(found));
  Rows rows = database_.rows(
      "SELECT id, title, created, updated, extra FROM threads WHERE principal=?1"
      " AND (?2 IS NULL OR (updated, id) < (?2, ?3)) ORDER BY updated DESC, id DESC LIMIT ?4",
      find_name(principal), edge, before, limit);
  while (rows.next()) found.push_back(read_thread(rows, principal));
  return finish(std::move(found));
}

Result<bool> Backend::delete_thread(std::string_view principal, std::string_view id) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  {
    Transaction transaction(database_);
    const auto thread = find_thread(principal, id);
    if (!thread) return finish(false);
    std::vector<std::int64_t> roots;
    {
      Rows rows = database_.rows("SELECT no FROM runs WHERE thread=?1 AND root IS NULL", *thread);
      while (rows.next()) roots.push_back(rows.number(0));
    }
    for (const std::int64_t root : roots) erase_run(root);
    database_.run("DELETE FROM messages WHERE thread=?1", *thread);
    database_.run("DELETE FROM artifacts WHERE thread=?1", *thread);
    database_.run("DELETE FROM attachments WHERE principal=?1 AND thread=?2", find_name(principal),
                  id);
    database_.run("DELETE FROM threads WHERE n=?1", *thread);
    transaction.commit();
  }
  if (!database_.ok()) return failure();
  MILLRACE_TRY(forget_for_good());
  return true;
}

void Backend::write_messages(std::int64_t thread, std::span<const MessageRow> rows) {
  for (const MessageRow& row : rows) {
    database_.run("DELETE FROM messages WHERE thread=?1 AND (id=?2 OR place=?3)", thread, row.id,
                  row.place);
    database_.run("INSERT INTO messages(thread, place, id, json) VALUES(?1, ?2, ?3, ?4)", thread,
                  row.place, row.id, Bytes{row.json});
  }
}

Result<void> Backend::put_messages(std::string_view principal, std::string_view thread,
                                   std::span<const MessageRow> messages) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  const auto known = find_thread(principal, thread);
  if (!known) return database_.ok() ? no_thread(thread) : failure();
  database_.run("UPDATE threads SET updated=?2 WHERE n=?1", *known, now());
  write_messages(*known, messages);
  transaction.commit();
  return finish();
}

Result<std::vector<MessageRow>> Backend::messages(std::string_view principal,
                                                  std::string_view thread) {
  std::vector<MessageRow> found;
  Rows rows = database_.rows("SELECT id, place, json FROM messages WHERE thread=?1 ORDER BY place",
                             find_thread(principal, thread));
  while (rows.next()) found.push_back({rows.text(0), rows.number(1), rows.text(2)});
  return finish(std::move(found));
}

Result<void> Backend::put_artifact(const ArtifactRow& artifact) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  const auto thread = find_thread(artifact.principal, artifact.thread);
  if (!thread) return database_.ok() ? no_thread(artifact.thread) : failure();
  const auto owner = database_.number(
      "SELECT t.principal FROM artifacts a JOIN threads t ON t.n=a.thread WHERE a.id=?1",
      artifact.id);
  if (owner && owner != find_name(artifact.principal)) {
    return make_error(Errc::invalid_argument, "The artifact id '" + artifact.id + "' is taken.");
  }
  database_.run(
      "INSERT INTO artifacts(id, thread, type, title, updated, content)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(id) DO UPDATE SET thread=excluded.thread,"
      " type=excluded.type, title=excluded.title, updated=excluded.updated,"
      " content=excluded.content",
      artifact.id, *thread, artifact.type, artifact.title, artifact.updated,
      Bytes{artifact.content});
  transaction.commit();
  return finish();
}

Result<std::optional<ArtifactRow>> Backend::artifact(std::string_view principal,
                                                     std::string_view id) {
  Rows rows = database_.rows(
      "SELECT a.id, t.id, a.type, a.title, a.updated, a.content FROM artifacts a"
      " JOIN threads t ON t.n=a.thread WHERE a.id=?1 AND t.principal=?2",
      id, find_name(principal));
  std::optional<ArtifactRow> found;
  if (rows.next()) {
    found = ArtifactRow{rows.text(0), std::string(principal), rows.text(1), rows.text(2),
                        rows.text(3), rows.number(4),         rows.text(5)};
  }
  return finish(std::move(found));
}

Result<std::vector<ArtifactRow>> Backend::artifacts(std::string_view principal,
                                                    std::string_view thread) {
  std::vector<ArtifactRow> found;
  Rows rows =
      database_.rows("SELECT id, type, title, updated FROM artifacts WHERE thread=?1 ORDER BY id",
                     find_thread(principal, thread));
  while (rows.next()) {
    found.push_back({rows.text(0),
                     std::string(principal),
                     std::string(thread),
                     rows.text(1),
                     rows.text(2),
                     rows.number(3),
                     {}});
  }
  return finish(std::move(found));
}

Result<bool> Backend::delete_artifact(std::string_view principal, std::string_view id) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  database_.run(
      "DELETE FROM artifacts WHERE id=?1"
      " AND thread IN (SELECT n FROM threads WHERE principal=?2)",
      id, find_name(principal));
  const bool was_there = database_.ok() && database_.changes() > 0;
  if (was_there) MILLRACE_TRY(forget_for_good());
  return finish(was_there);
}

Result<std::string> Backend::put_blob(std::string_view bytes) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  std::string hash = sha256_hex(bytes);
  database_.run(
      "INSERT INTO blobs(hash, created, data) VALUES(unhex(?1), ?2, ?3)"
      " ON CONFLICT(hash) DO NOTHING",
      hash, now(), Bytes{bytes});
  return finish(std::move(hash));
}

Result<std::optional<std::string>> Backend::blob(std::string_view hash) {
  Rows rows = database_.rows("SELECT data FROM blobs WHERE hash=unhex(?1)", hash);
  std::optional<std::string> found;
  if (rows.next()) found = rows.text(0);
  if (found && sha256_hex(*found) != hash) {
    return make_error(Errc::store_damaged, "The blob " + std::string(hash) + " is damaged.");
  }
  return finish(std::move(found));
}

Result<void> Backend::put_attachment(const AttachmentRow& attachment) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  if (!database_.number("SELECT 1 FROM blobs WHERE hash=unhex(?1)", attachment.hash)) {
    if (!database_.ok()) return failure();
    return make_error(Errc::invalid_argument, "There is no blob '" + attachment.hash + "'.");
  }
  database_.run(
      "INSERT INTO attachments(id, principal, thread, name, media, hash, created)"
      " VALUES(?1, ?2, ?3, ?4, ?5, unhex(?6), ?7) ON CONFLICT(id) DO UPDATE SET"
      " principal=excluded.principal, thread=excluded.thread, name=excluded.name,"
      " media=excluded.media, hash=excluded.hash, created=excluded.created",
      attachment.id, name(attachment.principal), attachment.thread, attachment.name,
      attachment.media, attachment.hash, attachment.created);
  transaction.commit();
  return finish();
}

Result<std::optional<AttachmentRow>> Backend::attachment(std::string_view principal,
                                                         std::string_view id) {
  Rows rows = database_.rows(
      "SELECT id, thread, name, media, lower(hex(hash)), created FROM attachments"
      " WHERE id=?1 AND principal=?2",
      id, find_name(principal));
  std::optional<AttachmentRow> found;
  if (rows.next()) {
    found = AttachmentRow{rows.text(0), std::string(principal), rows.text(1),  rows.text(2),
                          rows.text(3), rows.text(4),           rows.number(5)};
  }
  return finish(std::move(found));
}

Result<bool> Backend::delete_attachment(std::string_view principal, std::string_view id) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  database_.run("DELETE FROM attachments WHERE id=?1 AND principal=?2", id, find_name(principal));
  return finish(database_.ok() && database_.changes() > 0);
}

}  // namespace millrace::store::sqlite
