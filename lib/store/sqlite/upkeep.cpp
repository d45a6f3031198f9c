// Deletion, backup and what can wait.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "os/descriptors.hpp"
#include "os/sync.hpp"
#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"

namespace millrace::store::sqlite {
namespace {

constexpr int log_pages_before_checkpoint = 4096;  // of 4 KiB

}  // namespace

void Backend::checkpoint_log(int mode) {
  if (mode == SQLITE_CHECKPOINT_PASSIVE) {
    int log_pages = 0;
    int done = 0;
    // A checkpoint of nothing: it only tells how long the log is.
    sqlite3_wal_checkpoint_v2(database_.handle(), nullptr, SQLITE_CHECKPOINT_NOOP, &log_pages,
                              &done);
    if (log_pages - done < log_pages_before_checkpoint) return;
  }
  if (!place_.is_same_file(os::place_of(real_path_))) {
    database_.fail(SQLITE_READONLY_DBMOVED, "the file was moved");
    return;
  }
  // Readers may hold it up; the next one goes on from there.
  sqlite3_wal_checkpoint_v2(database_.handle(), nullptr, mode, nullptr, nullptr);
}

Result<void> Backend::tidy() {
  MILLRACE_TRY(writable());
  database_.script("PRAGMA incremental_vacuum(256)");
  checkpoint_log(SQLITE_CHECKPOINT_TRUNCATE);
  return finish();
}

void Backend::erase_run(std::int64_t root) {
  const auto each = [&](const char* sql) { database_.run(sql, root); };
  if (recent_.may_hold(root)) settle_all();
  each("DELETE FROM journal WHERE run=?1");
  each("DELETE FROM segments WHERE run=?1");
  each("DELETE FROM approvals WHERE run=?1");
  each("DELETE FROM outbox WHERE run=?1");
  each("DELETE FROM checkpoints WHERE run IN (SELECT no FROM runs WHERE no=?1 OR root=?1)");
  each("DELETE FROM calls WHERE run IN (SELECT no FROM runs WHERE no=?1 OR root=?1)");
  each("DELETE FROM runs WHERE root=?1");
  each("DELETE FROM runs WHERE no=?1");
  live_.clear();
}

// The messages that the run wrote into its thread. A title that repeats one of them goes as well.
void Backend::erase_messages(std::int64_t root) {
  const auto thread = database_.number("SELECT thread FROM runs WHERE no=?1", root);
  if (!thread) return;
  std::string title;
  {
    Rows rows = database_.rows("SELECT title FROM threads WHERE n=?1", *thread);
    if (rows.next()) title = rows.text(0);
  }
  std::string in_json;
  json::append_escaped(in_json, title, json::Surrogates::keep);
  if (!title.empty()) {
    database_.run(
        "UPDATE threads SET title='' WHERE n=?1 AND EXISTS (SELECT 1 FROM messages"
        " WHERE thread=?1 AND run=?2 AND instr(json, ?3)<>0)",
        *thread, root, Bytes{in_json});
  }
  database_.run("DELETE FROM messages WHERE thread=?1 AND run=?2", *thread, root);
  note_change(*thread);
}

// Blobs that only what was deleted referred to.
void Backend::erase_blobs(const std::vector<std::string>& hashes) {
  for (const std::string& hash : hashes) {
    database_.run(
        "DELETE FROM blobs WHERE hash=?1"
        " AND NOT EXISTS (SELECT 1 FROM attachments a WHERE a.hash=blobs.hash)",
        Bytes{hash});
  }
}

// What was deleted is overwritten in its pages (secure_delete), and still in the log. Where
// somebody reads from the log, an export for example, that waits for the next sweep.
Result<void> Backend::forget_for_good() {
  const BriefWait brief(database_);
  const int code = sqlite3_wal_checkpoint_v2(database_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  must_forget_ = (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED;
  if (code != SQLITE_OK && !must_forget_) database_.fail(code, sqlite3_errmsg(database_.handle()));
  return finish();
}

Result<void> Backend::delete_run(const RunId& root) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  {
    Transaction transaction(database_);
    const auto row = load_run(root);
    const auto no = number_of(root);
    if (!row || row->run.root || !no) return database_.ok() ? no_run(root) : failure();
    erase_messages(*no);
    erase_run(*no);
    transaction.commit();
  }
  if (!database_.ok()) return failure();
  return forget_for_good();
}

Result<void> Backend::backup(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) {
    return make_error(Errc::invalid_argument, "The backup '" + path + "' is there already.");
  }
  const std::string part = path + ".part";
  std::filesystem::remove(part, failed);
  // 0600 before anything is in it; VACUUM INTO takes an empty file.
  const os::Descriptor made(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made.get() < 0) {
    return make_error(Errc::store_failed, "The backup '" + path + "' cannot be written.");
  }
  // The copy is a database that is written, and the store itself may be open for reading only.
  if (options_.read_only) database_.script("PRAGMA query_only=OFF");
  database_.run("VACUUM INTO ?1", part);
  if (options_.read_only) database_.script("PRAGMA query_only=ON");
  if (!database_.ok()) {
    Error error = failure();
    std::filesystem::remove(part, failed);
    return error;
  }
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  if (!os::sync_path(part, O_RDWR) || ::rename(part.c_str(), path.c_str()) != 0 ||
      !os::sync_path(folder, O_RDONLY | O_DIRECTORY)) {
    return make_error(Errc::store_failed, "The backup '" + path + "' cannot be written.");
  }
  return {};
}

}  // namespace millrace::store::sqlite
