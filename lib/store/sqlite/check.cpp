// The search for damage in a file.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.hpp"
#include "store/journal_check.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/file_size.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {

Result<std::vector<Problem>> Backend::check() {
  std::vector<Problem> problems;
  if (auto cut = cut_of(real_path_)) {
    problems.push_back({{}, std::move(*cut), Errc::store_truncated});
  }
  check_log(problems);
  {
    Rows rows = database_.rows("PRAGMA integrity_check(100)");
    while (rows.next()) {
      if (rows.view(0) != "ok") problems.push_back({{}, rows.text(0)});
    }
  }
  MILLRACE_TRY(take_damage(problems));
  // Runs as their pages are, where somebody works on them.
  const Snapshot snapshot(database_);
  JournalCheck journals;
  const auto read = each_page([&](const RunId& run, const PlacedPage& placed) -> Result<void> {
    journals.add_page(run, placed.page, placed.checksum, placed.hash);
    return {};
  });
  if (!read) problems.push_back({{}, read.error().message});
  MILLRACE_TRY(take_damage(problems));
  {
    Rows rows = database_.rows("SELECT id, state, last, records FROM runs WHERE root IS NULL");
    while (rows.next()) {
      journals.check_run(
          RunId::of_bytes(rows.view(0)), static_cast<journal::RunState>(rows.number(1)),
          static_cast<std::uint64_t>(rows.number(2)), static_cast<StoredRecords>(rows.number(3)));
    }
  }
  std::optional<Error> unread;  // the calls of a run
  journals.check_calls([&](const RunId& run) {
    auto rows = calls(run);
    if (!rows) unread = rows.error();
    return rows ? std::move(rows).value() : JournalCheck::Calls();
  });
  if (unread && unread->code != Errc::store_damaged) return *std::move(unread);
  if (unread) problems.push_back({{}, "not all of the file can be read: " + unread->detail});
  {
    Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL);
    while (rows.next()) journals.check_approval(read_approval(rows));
  }
  {
    Rows rows = database_.rows(
        "SELECT r.id, c.number, c.seq, c.is_full, c.data, c.crc FROM checkpoints c"
        " JOIN runs r ON r.no=c.run ORDER BY c.run, c.number");
    while (rows.next()) journals.check_checkpoint(read_checkpoint(rows));
  }
  journals.check_last_checkpoints();
  {
    Rows rows = database_.rows("SELECT lower(hex(hash)), data FROM blobs");
    while (rows.next()) {
      if (sha256_hex(rows.view(1)) == rows.view(0)) continue;
      problems.push_back({{}, "the blob " + rows.text(0) + " is damaged"});
    }
  }
  MILLRACE_TRY(take_damage(problems));
  std::vector<Problem> found = journals.take();
  problems.insert(problems.end(), found.begin(), found.end());
  return finish(std::move(problems));
}

// The owner has looked when it opened the file; a reader may come before the next owner.
void Backend::check_log(std::vector<Problem>& problems) {
  if (const auto commits = database_.number("SELECT v FROM meta WHERE k='passed_commits'")) {
    problems.push_back({{},
                        "at least " + std::to_string(*commits) +
                            " commits are missing: the write-ahead log was damaged when the store "
                            "was opened"});
  }
  if (!options_.read_only) return;
  const auto passed = passed_over(real_path_, options_.vfs);
  if (passed && is_damage(*passed)) problems.push_back({{}, sentence_of(*passed)});
}

// What SQLite could not read is a problem like others.
Result<void> Backend::take_damage(std::vector<Problem>& problems) {
  if (database_.ok()) return {};
  Error error = failure();
  if (error.code != Errc::store_damaged) return error;
  problems.push_back({{}, "not all of the file can be read: " + error.detail});
  return {};
}

}  // namespace millrace::store::sqlite
