// Retention, deletion, backup and the search for damage.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <utility>

#include "journal/fold.hpp"
#include "journal/page.hpp"
#include "os/descriptors.hpp"
#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

constexpr int log_pages_before_checkpoint = 4096;  // of 4 KiB

bool sync_path(const std::string& path, int flags) {
  const os::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  return file.get() >= 0 && ::fsync(file.get()) == 0;
}

// Where a page of a run can be read, and what its journal says of it.
struct Checked {
  journal::RunFold fold;
  bool is_readable = true;
};

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

// What was deleted is overwritten in its pages (secure_delete), and still in the log.
Result<void> Backend::forget_for_good() {
  int code = SQLITE_OK;
  {
    int log_pages = 0;
    code = sqlite3_wal_checkpoint_v2(database_.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE,
                                     &log_pages, nullptr);
  }
  if (code != SQLITE_OK) database_.fail(code, sqlite3_errmsg(database_.handle()));
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
    erase_run(*no);
    transaction.commit();
  }
  if (!database_.ok()) return failure();
  return forget_for_good();
}

Result<SweepReport> Backend::sweep(const SweepPolicy& policy) {
  MILLRACE_TRY(writable());
  const std::int64_t at = now();
  set_synchronous(true);
  SweepReport report;
  Transaction transaction(database_);
  std::vector<ApprovalRow> late;
  {
    Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL
                               " WHERE a.decided IS NULL AND a.expired=0 AND a.expires<>0"
                               " AND a.expires<=?1",
                               at);
    while (rows.next()) late.push_back(read_approval(rows));
  }
  for (const ApprovalRow& approval : late) {
    auto row = load_run(approval.run);
    if (!row) continue;
    write_fact(*row, journal::ApprovalExpired{approval.id}, at);
    answer_waiting(*row, at);
    store_run(*row);
    database_.run("UPDATE approvals SET expired=1 WHERE id=?1", approval.id);
    report.expired.push_back({row->run.id, row->last, row->state});
  }
  report.journals = static_cast<std::size_t>(
      database_
          .number("SELECT count(DISTINCT j.run) FROM runs r JOIN journal j ON j.run=r.no"
                  " WHERE r.root IS NULL AND r.ended<=?1",
                  at - policy.events_ms)
          .value_or(0));
  database_.run(
      "DELETE FROM journal WHERE run IN"
      " (SELECT no FROM runs WHERE root IS NULL AND ended<=?1)",
      at - policy.events_ms);
  database_.run(
      "DELETE FROM blobs WHERE created<=?1"
      " AND NOT EXISTS (SELECT 1 FROM attachments a WHERE a.hash=blobs.hash)",
      at - policy.blobs_ms);
  report.blobs = static_cast<std::size_t>(database_.ok() ? database_.changes() : 0);
  transaction.commit();
  return finish(std::move(report));
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
  if (!sync_path(part, O_RDWR) || ::rename(part.c_str(), path.c_str()) != 0 ||
      !sync_path(folder, O_RDONLY | O_DIRECTORY)) {
    return make_error(Errc::store_failed, "The backup '" + path + "' cannot be written.");
  }
  return {};
}

Result<std::vector<Problem>> Backend::check() {
  std::vector<Problem> problems;
  {
    Rows rows = database_.rows("PRAGMA integrity_check(100)");
    while (rows.next()) {
      if (rows.view(0) != "ok") problems.push_back({{}, rows.text(0)});
    }
  }
  check_pages(problems);
  return finish(std::move(problems));
}

void Backend::check_pages(std::vector<Problem>& problems) {
  std::map<RunId, Checked> checked;
  Rows rows = database_.rows(
      "SELECT r.id, j.last, j.count, j.crc, j.page FROM journal j JOIN runs r ON r.no=j.run"
      " ORDER BY j.run, j.last");
  while (rows.next()) {
    const RunId id = RunId::of_bytes(rows.view(0));
    const auto last = static_cast<std::uint64_t>(rows.number(1));
    const auto count = static_cast<std::uint64_t>(rows.number(2));
    Checked& run = checked[id];
    if (!run.is_readable) continue;
    const std::string_view page = rows.view(4);
    const bool is_whole = journal::checksum_of(page, id.bytes(), last, count) ==
                          static_cast<std::uint32_t>(rows.number(3));
    if (!is_whole || last - count != run.fold.last()) {
      run.is_readable = false;
      problems.push_back(
          {id, is_whole ? "records before " + std::to_string(last) + " are missing"
                        : "the page that ends at record " + std::to_string(last) + " is damaged"});
      continue;
    }
    journal::PageReader reader(page, last, count);
    for (auto record = reader.next(); record.ok() && record.value() != nullptr;
         record = reader.next()) {
      run.fold.add(*record.value());
    }
  }
  // The ledger only repeats the journal.
  for (const auto& [id, run] : checked) {
    if (!run.is_readable || !run.fold.branches().contains(0)) continue;
    journal::FoldedBranch branch = run.fold.branches().at(0);
    Rows calls = database_.rows("SELECT call, state FROM calls WHERE run=?1", number_of(id));
    while (calls.next()) {
      const journal::FoldedCall* call = branch.find_call(calls.view(0));
      const auto state = static_cast<journal::CallState>(calls.number(1));
      if (call == nullptr || call->state == state) continue;
      problems.push_back({id, "the call '" + calls.text(0) + "' is '" +
                                  std::string(journal::name_of(state)) + "', and '" +
                                  std::string(journal::name_of(call->state)) + "' in the journal"});
    }
  }
}

}  // namespace millrace::store::sqlite
