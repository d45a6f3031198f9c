// Artifacts, attachments and their bytes.
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {

Result<void> Backend::put_artifact(const ArtifactRow& artifact) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  const auto thread = find_thread(artifact.principal, artifact.thread);
  if (!thread) return database_.ok() ? no_thread(artifact.thread) : failure();
  database_.run(
      "INSERT INTO artifacts(id, thread, type, title, updated, content, principal)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(principal, id) DO UPDATE SET"
      " thread=excluded.thread,"
      " type=excluded.type, title=excluded.title, updated=excluded.updated,"
      " content=excluded.content",
      artifact.id, *thread, artifact.type, artifact.title, artifact.updated,
      Bytes{artifact.content}, find_name(artifact.principal));
  transaction.commit();
  return finish();
}

Result<std::optional<ArtifactRow>> Backend::artifact(std::string_view principal,
                                                     std::string_view id) {
  Rows rows = database_.rows(
      "SELECT a.id, t.id, a.type, a.title, a.updated, a.content FROM artifacts a"
      " JOIN threads t ON t.n=a.thread WHERE a.id=?1 AND a.principal=?2",
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

Result<std::vector<ArtifactRow>> Backend::artifacts_of(std::string_view principal,
                                                       std::string_view after, std::size_t limit) {
  std::vector<ArtifactRow> found;
  Rows rows = database_.rows(
      "SELECT a.id, t.id, a.type, a.title, a.updated FROM artifacts a"
      " JOIN threads t ON t.n=a.thread WHERE a.id>?2 AND a.principal=?1 ORDER BY a.id LIMIT ?3",
      find_name(principal), after, limit);
  while (rows.next()) {
    found.push_back({rows.text(0),
                     std::string(principal),
                     rows.text(1),
                     rows.text(2),
                     rows.text(3),
                     rows.number(4),
                     {}});
  }
  return finish(std::move(found));
}

Result<bool> Backend::delete_artifact(std::string_view principal, std::string_view id) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  database_.run("DELETE FROM artifacts WHERE id=?1 AND principal=?2", id, find_name(principal));
  const bool was_there = database_.ok() && database_.changes() > 0;
  if (was_there) MILLRACE_TRY(forget_for_good());
  return finish(was_there);
}

void Backend::note_attachments(std::int64_t thread, std::string_view message_json) {
  for (const std::string& id : attachments_in(message_json)) {
    database_.run("INSERT OR IGNORE INTO attachment_uses(thread, attachment) VALUES(?1, ?2)",
                  thread, id);
  }
}

// Those of a thread that is removed, and those of no thread that its messages refer to. One that
// another thread of the principal refers to stays, and is of no thread then. Gives the blobs.
std::vector<std::string> Backend::erase_attachments(std::int64_t thread, std::string_view id,
                                                    std::int64_t principal) {
  std::vector<std::string> ids;
  {
    Rows rows = database_.rows(
        "SELECT id FROM attachments WHERE principal=?1 AND thread=?2 UNION"
        " SELECT a.id FROM attachment_uses u JOIN attachments a ON a.id=u.attachment"
        " WHERE u.thread=?3 AND a.principal=?1 AND a.thread=''",
        principal, id, thread);
    while (rows.next()) ids.push_back(rows.text(0));
  }
  database_.run("DELETE FROM attachment_uses WHERE thread=?1", thread);
  std::vector<std::string> blobs;
  for (const std::string& one : ids) {
    if (database_.number("SELECT 1 FROM attachment_uses u JOIN threads t ON t.n=u.thread"
                         " WHERE u.attachment=?1 AND t.principal=?2 LIMIT 1",
                         one, principal)) {
      database_.run("UPDATE attachments SET thread='' WHERE id=?1", one);
      continue;
    }
    Rows rows = database_.rows("DELETE FROM attachments WHERE id=?1 RETURNING hash", one);
    while (rows.next()) blobs.push_back(rows.text(0));
  }
  return blobs;
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
  std::vector<std::string> replaced;
  {
    Rows rows = database_.rows("SELECT hash FROM attachments WHERE id=?1", attachment.id);
    while (rows.next()) replaced.push_back(rows.text(0));
  }
  database_.run(
      "INSERT INTO attachments(id, principal, thread, name, media, hash, created)"
      " VALUES(?1, ?2, ?3, ?4, ?5, unhex(?6), ?7) ON CONFLICT(id) DO UPDATE SET"
      " principal=excluded.principal, thread=excluded.thread, name=excluded.name,"
      " media=excluded.media, hash=excluded.hash, created=excluded.created",
      attachment.id, name(attachment.principal), attachment.thread, attachment.name,
      attachment.media, attachment.hash, attachment.created);
  erase_blobs(replaced);
  transaction.commit();
  return finish();
}

Result<std::optional<AttachmentRow>> Backend::attachment(std::string_view principal,
                                                         std::string_view id) {
  Rows rows = database_.rows(
      "SELECT a.id, a.thread, a.name, a.media, lower(hex(a.hash)), a.created, length(b.data)"
      " FROM attachments a JOIN blobs b ON b.hash=a.hash WHERE a.id=?1 AND a.principal=?2",
      id, find_name(principal));
  std::optional<AttachmentRow> found;
  if (rows.next()) {
    found = AttachmentRow{rows.text(0), std::string(principal), rows.text(1),   rows.text(2),
                          rows.text(3), rows.text(4),           rows.number(5), rows.number(6)};
  }
  return finish(std::move(found));
}

Result<bool> Backend::delete_attachment(std::string_view principal, std::string_view id) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  {
    Transaction transaction(database_);
    const auto owner = find_name(principal);
    std::vector<std::string> blobs;
    {
      Rows rows =
          database_.rows("SELECT hash FROM attachments WHERE id=?1 AND principal=?2", id, owner);
      while (rows.next()) blobs.push_back(rows.text(0));
    }
    if (blobs.empty()) return finish(false);
    database_.run("DELETE FROM attachments WHERE id=?1 AND principal=?2", id, owner);
    erase_blobs(blobs);
    transaction.commit();
  }
  if (!database_.ok()) return failure();
  MILLRACE_TRY(forget_for_good());
  return true;
}

}  // namespace millrace::store::sqlite
