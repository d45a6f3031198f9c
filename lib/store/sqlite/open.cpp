#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/file_size.hpp"
#include "store/sqlite/schema.hpp"

namespace millrace::store {
namespace sqlite {
namespace {

constexpr std::int64_t clock_step_ms = 60'000;  // how often clock_high is saved

Error unsupported(const std::string& what) {
  return make_error(Errc::store_unsupported, what);
}

Error in_use(const std::string& path, const std::string& holder) {
  const std::string who = holder.empty() ? "another process" : "the process " + holder;
  return make_error(Errc::store_in_use, "The store '" + path + "' is open in " + who + ".");
}

// Other people read nothing of it. SQLite gives -wal and -shm the mode of the file.
bool make_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  ::close(file);
  return true;
}

bool is_writable(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) == 0;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// The address of a file that SQLite is to read as it is, without a log and locks beside it.
// Source: https://sqlite.org/uri.html
std::string unchanging(const std::string& path) {
  std::string address = "file:";
  for (const char c : path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    if (c != '%' && c != '?' && c != '#') {
      address.push_back(c);
      continue;
    }
    const auto code = static_cast<unsigned char>(c);
    address.append({'%', digits[code >> 4U], digits[code & 0xFU]});
  }
  return address + "?immutable=1";
}

}  // namespace

Backend::~Backend() {
  if (!database_.is_open() || options_.read_only) return;
  const bool is_there = place_.is_same_file(os::place_of(real_path_));
  if (is_there && is_recent_known_ && !recent_.empty()) {
    Transaction transaction(database_);
    settle_all();
    transaction.commit();
  }
  checkpoint_log(SQLITE_CHECKPOINT_TRUNCATE);
}

Result<void> Backend::check_place() {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path given = fs::absolute(options_.path, failed);
  const fs::path folder = fs::canonical(given.parent_path(), failed);
  if (failed || !given.has_filename()) {
    return make_error(Errc::store_failed,
                      "The folder of the store '" + options_.path + "' is not there.");
  }
  const fs::path file = folder / given.filename();
  if (fs::is_symlink(fs::symlink_status(file, failed))) {
    return unsupported("The store '" + options_.path + "' is a symbolic link.");
  }
  real_path_ = file.string();
  if (const std::string kind = options_.network_kind(folder.string());
      !kind.empty() && !options_.allow_network) {
    return unsupported("The store '" + options_.path + "' would be on a file system of the kind " +
                       kind + ", where locks and syncs cannot be relied on.");
  }
  return {};
}

// What is in the way where nothing can be made beside the file.
Error Backend::explained(Error error) const {
  if (error.code != Errc::store_failed || is_writable(folder_of(real_path_))) return error;
  const std::string place = "The folder of the store '" + options_.path + "' cannot be written";
  if (!options_.read_only) {
    return make_error(Errc::store_failed, place + "; it can only be opened for reading.",
                      error.message);
  }
  if (!has_log()) return error;
  return unsupported(place +
                     ", and the store was not closed: its log cannot be read there. Copy the "
                     "file and its -wal to a folder that can be written.");
}

Result<void> Backend::open() {
  MILLRACE_TRY(check_place());
  auto opened = open_file();
  return opened ? opened : Result<void>(explained(std::move(opened).error()));
}

Result<void> Backend::open_file() {
  if (!options_.read_only) {
    auto lock = os::FileLock::take(real_path_ + ".lock", options_.open_timeout);
    if (!lock) return std::move(lock).error();
    if (!lock.value().is_held()) return in_use(options_.path, lock.value().holder());
    lock_ = std::move(lock).value();
    if (!make_private(real_path_)) {
      return make_error(Errc::store_failed, "The store '" + options_.path + "' cannot be written.",
                        std::generic_category().message(errno));
    }
  }
  place_ = os::place_of(real_path_);
  if (place_.links > 1) {
    return unsupported("The store '" + options_.path + "' has more than one name.");
  }
  // SQLite writes over what it has passed over.
  const auto passed = options_.read_only ? std::nullopt : passed_over(real_path_, options_.vfs);
  MILLRACE_TRY(connect());
  if (options_.read_only) return {};
  const bool is_as_before = has_durability(options_.durability);
  bool is_lost = false;
  {
    // Nobody else can have them: this process has the lock.
    Transaction transaction(database_);
    is_lost = note_passed_over(passed);
    database_.run("UPDATE runs SET owner=NULL, run_at=min(run_at, ?1) WHERE owner IS NOT NULL",
                  now());
    database_.run("UPDATE meta SET v=v+1 WHERE k='open_epoch'");
    transaction.commit();
  }
  // The next start must not find what was passed over behind what this process writes; and it must
  // know the durability, and the tables, also where the whole log is damaged.
  if ((passed || !is_as_before) && database_.ok()) checkpoint_log(SQLITE_CHECKPOINT_TRUNCATE);
  if (is_lost && options_.on_lost_commits) options_.on_lost_commits(lost_commits(*passed));
  return finish();
}

Error Backend::lost_commits(const PassedOver& passed) const {
  return make_error(Errc::store_damaged, "The store '" + options_.path +
                                             "' has lost commits: " + sentence_of(passed) +
                                             ". Runs that were at work are damaged.");
}

bool Backend::has_durability(Durability durability) {
  return database_.number("SELECT v FROM meta WHERE k='durability'") ==
         static_cast<std::int64_t>(durability);
}

// Where each commit had reached the disk, no power cut explains what is missing, and each run that
// was at work may lack records.
bool Backend::note_passed_over(const std::optional<PassedOver>& passed) {
  const bool is_lost = passed && is_damage(*passed);
  if (is_lost) {
    settle_all();
    for (const auto& [run, at_work] : runs_at_work()) mark_damaged(run);
    database_.run(
        "INSERT INTO meta VALUES('passed_commits', ?1) ON CONFLICT(k) DO UPDATE SET v=v+excluded.v",
        passed->commits);
  }
  // Readers can keep the log from being emptied.
  if (passed) {
    database_.run("INSERT OR REPLACE INTO meta VALUES('passed_log', ?1)", passed->log);
  }
  database_.run("INSERT OR REPLACE INTO meta VALUES('durability', ?1)", options_.durability);
  has_unsynced_ = false;
  return is_lost;
}

// Of a log of which no owner knows yet.
bool Backend::is_damage(const PassedOver& passed) {
  return has_durability(Durability::full) &&
         database_.number("SELECT v FROM meta WHERE k='passed_log'") != passed.log;
}

std::unique_ptr<StorageBackend> Backend::open_reader() {
  SqliteOptions options = options_;
  options.read_only = true;
  auto reader = std::make_unique<Backend>(std::move(options));
  // Without one, this backend reads as well.
  if (!reader->open()) return nullptr;
  return reader;
}

bool Backend::has_log() const {
  std::error_code failed;
  const auto size = std::filesystem::file_size(real_path_ + "-wal", failed);
  return !failed && size > 0;
}

void Backend::read_together(const std::function<void()>& reads) {
  // Another process has opened it meanwhile: what it commits is in the log first.
  if (is_alone_ && has_log()) {
    if (const auto connected = connect(); !connected) {
      is_alone_ = true;
      database_.fail(SQLITE_CANTOPEN, connected.error().message);
    }
  }
  const Snapshot snapshot(database_);
  // Each read reports what fails in it.
  if (!database_.ok()) static_cast<void>(database_.take_error());
  reads();
}

Result<void> Backend::connect() {
  forget();
  const int access =
      options_.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3_initialize();
  // Even to read, SQLite makes a log where none is.
  is_alone_ = options_.read_only && !has_log() && !is_writable(folder_of(real_path_));
  const int how = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  MILLRACE_TRY(is_alone_
                   ? database_.open(unchanging(real_path_), how | SQLITE_OPEN_URI, options_.vfs)
                   : database_.open(real_path_, how, options_.vfs));
  auto prepared = prepare_connection();
  if (prepared || prepared.error().code != Errc::store_damaged) return prepared;
  auto cut = cut_of(real_path_);
  if (!cut) return prepared;
  return make_error(Errc::store_truncated, *std::move(cut) + " (" + options_.path + ")");
}

// A store whose tables are all in a log that cannot be read is no new one.
Result<void> Backend::check_tables() {
  if (database_.number("SELECT count(*) FROM sqlite_schema").value_or(1) != 0) return {};
  const auto passed = passed_over(real_path_, options_.vfs);
  if (!passed) return {};
  // The last one to close a file removes its log.
  sqlite3_db_config(database_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return make_error(Errc::store_damaged, "The store '" + options_.path +
                                             "' cannot be read: " + sentence_of(*passed) +
                                             ", and the tables are among them.");
}

Result<void> Backend::prepare_connection() {
  if (options_.read_only) {
    database_.script("PRAGMA query_only=ON");
    MILLRACE_TRY(check_tables());
    MILLRACE_TRY(check_schema(database_, options_.read_only));
    clock_high_ = database_.number("SELECT v FROM meta WHERE k='clock_high'").value_or(0);
    return finish();
  }
  // Before any commit: what a killed process left in the log may need more room than there is.
  sqlite3_wal_autocheckpoint(database_.handle(), 0);
  // Before the first table is made.
  database_.script("PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;");
  // A foreign file is not changed, not even to another kind of log.
  database_.number("SELECT count(*) FROM sqlite_schema");
  if (!database_.ok()) return failure();
  MILLRACE_TRY(check_tables());
  if (database_.number("PRAGMA application_id").value_or(0) != 0)
    MILLRACE_TRY(check_schema(database_, options_.read_only));
  if (database_.number("SELECT count(*) FROM sqlite_schema").value_or(0) != 0) {
    MILLRACE_TRY(check_schema(database_, options_.read_only));
  }
  // fullfsync: as os::sync_file, for macOS alone.
  database_.script(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
      "PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON;"
      "PRAGMA secure_delete=ON; PRAGMA cache_size=-16000; PRAGMA mmap_size=0;");
  is_synchronous_ = true;
  if (!database_.ok()) return failure();
  MILLRACE_TRY(migrate(database_));
  clock_high_ = database_.number("SELECT v FROM meta WHERE k='clock_high'").value_or(0);
  clock_saved_ = clock_high_;
  MILLRACE_TRY(finish());
  sqlite3_commit_hook(
      database_.handle(),
      [](void* self) {
        static_cast<Backend*>(self)->is_recent_changed_ = false;
        return 0;
      },
      this);
  sqlite3_rollback_hook(
      database_.handle(),
      [](void* self) {
        auto* backend = static_cast<Backend*>(self);
        if (backend->is_recent_changed_) backend->is_recent_known_ = false;
      },
      this);
  return adopt_recent();
}

void Backend::forget() {
  live_.clear();
  names_.clear();
  is_recent_known_ = false;
  index_ = {};
}

// Clients read the message, the host program and its log the detail as well.
Error Backend::at_path(Error error) const {
  error.detail = options_.path + (error.detail.empty() ? "" : ": " + error.detail);
  return error;
}

// What opening says is for the program that opens, and names the path.
Result<void> Backend::connect_again() {
  auto connected = connect();
  if (connected) return connected;
  const Error& error = connected.error();
  const std::string& detail = error.detail;
  return make_error(error.code, {}, error.message + (detail.empty() ? "" : " " + detail));
}

Error Backend::failure() {
  forget();
  // After a sync that failed, a later one on the same file can claim a success that is none.
  is_suspect_ = is_suspect_ || (database_.code() & 0xFF) == SQLITE_IOERR;
  Error error = database_.take_error();
  return at_path(std::move(error));
}

Result<void> Backend::finish() {
  if (!database_.ok()) return failure();
  return {};
}

Result<void> Backend::writable() {
  if (options_.read_only) {
    return at_path(make_error(Errc::invalid_state, "The store is open for reading only."));
  }
  // What is written to a file that has no name any more is gone with the process.
  if (!place_.is_same_file(os::place_of(real_path_))) {
    return at_path(make_error(Errc::store_moved,
                              "The store was moved, replaced or removed while it was open."));
  }
  if (is_suspect_) {
    MILLRACE_TRY(connect_again());
    is_suspect_ = false;
    return {};
  }
  return is_recent_known_ ? Result<void>() : adopt_recent();
}

void Backend::set_synchronous(bool on) {
  if (options_.durability == Durability::memory) on = false;
  if (on == is_synchronous_) return;
  const bool balanced = options_.durability == Durability::balanced;
  database_.script(on ? "PRAGMA synchronous=FULL"
                      : (balanced ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=OFF"));
  is_synchronous_ = on;
}

std::int64_t Backend::now() {
  clock_high_ = std::max(clock_high_, options_.clock());
  // Within a minute after a start the clock may be read as earlier; expiry is no finer.
  const bool may_save =
      !options_.read_only && database_.is_open() && database_.ok() && !database_.is_in_snapshot();
  if (may_save && clock_high_ - clock_saved_ >= clock_step_ms) {
    clock_saved_ = clock_high_;
    database_.run("UPDATE meta SET v=?1 WHERE k='clock_high'", clock_high_);
  }
  return clock_high_;
}

}  // namespace sqlite

Result<std::unique_ptr<StorageBackend>> open_sqlite_backend(const SqliteOptions& options) {
  auto backend = std::make_unique<sqlite::Backend>(options);
  MILLRACE_TRY(backend->open());
  return std::unique_ptr<StorageBackend>(std::move(backend));
}

}  // namespace millrace::store
