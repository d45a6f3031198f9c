// What `check` finds in a file that was damaged.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/conformance.hpp"
#include "store/sqlite_store.hpp"

namespace millrace::store {
namespace {

class SqliteCheck : public SqliteStore {};

TEST_F(SqliteCheck, FindsAFlippedByteAndLosesThatRunOnly) {
  auto backend = opened();
  const std::string planted(300, 'p');
  append(*backend, accepting(new_run(1)));
  append(*backend, accepting(new_run(2)));
  append(*backend, text_batch(1, planted));
  append(*backend, text_batch(2, "whole"));
  backend.reset();
  std::fstream file(folder_.file(), std::ios::binary | std::ios::in | std::ios::out);
  std::ostringstream all;
  all << file.rdbuf();
  const auto at = all.str().find(planted);
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at + 150)).put('q');
  file.close();
  backend = opened();
  EXPECT_EQ(texts_of(*backend, 1), "store_damaged");
  EXPECT_EQ(texts_of(*backend, 2), "#|whole");
  const auto problems = backend->check();
  ASSERT_TRUE(problems.ok());
  ASSERT_EQ(problems.value().size(), 1U);
  EXPECT_EQ(problems.value()[0].run, id_of(1));
}

TEST_F(SqliteCheck, FindsAFileWhoseBytesAreNotThoseOfItsHash) {
  auto backend = opened();
  const auto hash = backend->put_blob("notes of May");
  ASSERT_TRUE(hash.ok());
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  run_sql("UPDATE blobs SET data = CAST('notes of Mai' AS BLOB)");
  backend = opened();
  const auto problems = backend->check();
  ASSERT_TRUE(problems.ok());
  ASSERT_EQ(problems.value().size(), 1U);
  EXPECT_EQ(problems.value()[0].what, "the blob " + hash.value() + " is damaged");
}

// The codes of what is found, each once.
std::set<Errc> codes_of(StorageBackend& backend) {
  std::set<Errc> codes;
  const auto problems = backend.check();
  for (const Problem& problem : problems.value()) codes.insert(problem.code);
  return codes;
}

TEST_F(SqliteCheck, FindsAFileThatIsCut) {
  namespace fs = std::filesystem;
  {
    auto backend = opened();
    append(*backend, accepting(new_run(1)));
    append(*backend, text_batch(1, std::string(20'000, 'x')));
  }
  const auto whole = fs::file_size(folder_.file());
  for (const std::uintmax_t bytes : {1U, 3U, 4095U}) {
    const fs::path copy = folder_.file() + ".copy";
    fs::copy_file(folder_.file(), copy, fs::copy_options::overwrite_existing);
    fs::resize_file(copy, whole - bytes);
    SqliteOptions options;
    options.path = copy.string();
    options.read_only = true;
    auto backend = open_sqlite_backend(options);
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    const auto problems = backend.value()->check().value();
    ASSERT_FALSE(problems.empty());
    EXPECT_EQ(problems[0].code, Errc::store_truncated);
    EXPECT_EQ(problems[0].what, "The file is cut: it has " + std::to_string(whole - bytes) +
                                    " bytes, and its " + std::to_string(whole / 4096) +
                                    " pages need " + std::to_string(whole) + ".");
  }
  EXPECT_TRUE(opened()->check().value().empty());
  // Without a whole page, SQLite does not open it.
  fs::resize_file(folder_.file(), whole - 4096);
  EXPECT_EQ(error_of_opening(), Errc::store_truncated);
  EXPECT_EQ(error_of_opening(true), Errc::store_truncated);
}

TEST_F(SqliteCheck, CountsThePagesOfTheLog) {
  namespace fs = std::filesystem;
  opened();
  const auto before = fs::file_size(folder_.file());
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, text_batch(1, std::string(20'000, 'x')));
  EXPECT_EQ(codes_of(*backend), std::set<Errc>());
  EXPECT_EQ(codes_of(*opened(true)), std::set<Errc>());
  // As a power cut in a checkpoint leaves it: the log has all pages, the file begins with the new
  // header and lacks the end.
  const std::string cut = folder_.file() + ".cut";
  fs::copy_file(folder_.file() + "-wal", cut + "-wal");
  backend.reset();
  fs::copy_file(folder_.file(), cut);
  fs::resize_file(cut, before + 100);
  SqliteOptions options;
  options.path = cut;
  auto mended = open_sqlite_backend(options);
  ASSERT_TRUE(mended.ok()) << mended.error().message;
  EXPECT_EQ(codes_of(*mended.value()), std::set<Errc>());
  EXPECT_EQ(texts_of(*mended.value(), 1), "#|" + std::string(20'000, 'x'));
}

TEST_F(SqliteCheck, FindsALedgerThatDiffersFromTheJournal) {
  auto backend = opened();
  AppendBatch batch = accepting(new_run(1));
  journal::ToolIntent intent;
  intent.call = "c";
  journal::PageWriter page;
  page.add({.body = journal::Fact(intent)});
  batch.page = page.take();
  CallRow call;
  call.run = id_of(1);
  call.call = "c";
  call.name = "pay";
  batch.calls.push_back(call);
  append(*backend, batch);
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  run_sql("UPDATE calls SET state=3");
  backend = opened();
  ASSERT_EQ(backend->check().value().size(), 1U);
  EXPECT_NE(backend->check().value()[0].what.find("'c'"), std::string::npos);
}

TEST_F(SqliteCheck, FindsWhatACallWasMadeWithAndCallsThatAreMissing) {
  auto backend = opened();
  AppendBatch batch = accepting(new_run(1));
  journal::ToolIntent intent;
  intent.call = "c";
  intent.name = "pay";
  intent.args_json = R"({"to":"ada"})";
  intent.args_hash = "hash";
  intent.effect = journal::Effect::keyed;
  journal::PageWriter page;
  page.add({.body = journal::Fact(intent)});
  batch.page = page.take();
  CallRow call;
  call.run = id_of(1);
  call.call = "c";
  call.name = "pay";
  call.args = intent.args_json;
  call.args_hash = "hash";
  call.effect = journal::Effect::keyed;
  batch.calls.push_back(call);
  append(*backend, batch);
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  for (const auto& [sql, back] : std::map<const char*, const char*>{
           {"UPDATE calls SET effect=3", "UPDATE calls SET effect=1"},
           {"UPDATE calls SET args=CAST('{}' AS BLOB)",
            R"(UPDATE calls SET args=CAST('{"to":"ada"}' AS BLOB))"},
           {"UPDATE calls SET args_hash=CAST('hush' AS BLOB)",
            "UPDATE calls SET args_hash=CAST('hash' AS BLOB)"},
           // What has no name is not read.
           {"UPDATE calls SET name=name+1000", "UPDATE calls SET name=name-1000"}}) {
    SCOPED_TRACE(sql);
    run_sql(sql);
    backend = opened();
    const auto problems = backend->check();
    ASSERT_TRUE(problems.ok());
    ASSERT_EQ(problems.value().size(), 1U);
    EXPECT_NE(problems.value()[0].what.find("the call 'c'"), std::string::npos);
    backend.reset();
    run_sql(back);
  }
  EXPECT_TRUE(opened()->check().value().empty());
}

TEST_F(SqliteCheck, FindsResultsAndApprovalsThatDifferFromTheJournal) {
  auto backend = opened();
  AppendBatch batch = accepting(new_run(1));
  journal::PageWriter page;
  const auto add = [&](const journal::Fact& fact) { page.add({.body = fact}); };
  journal::ToolIntent intent;
  intent.call = "c";
  add(intent);
  add(journal::ToolStarted{"c", 1});
  add(journal::ToolResult{"c", journal::CallState::ok, "4 apples", {}, {}});
  add(journal::JobStep{"buy", 1, journal::CallState::ok, R"({"n":4})"});
  add(journal::ApprovalRequested{"a", "d", journal::ApprovalKind::approval, "ah", "th", "alice",
                                 now_ + 1000});
  batch.page = page.take();
  const auto call = [&](const std::string& id, const std::string& result) {
    CallRow row;
    row.run = id_of(1);
    row.call = row.name = id;
    row.state = journal::CallState::ok;
    row.result = result;
    batch.calls.push_back(row);
  };
  call("c", R"({"content":"4 apples"})");
  call("buy#1", R"({"n":4})");
  ApprovalRow approval;
  approval.id = "a";
  approval.run = id_of(1);
  approval.call = "d";
  approval.args_hash = "ah";
  approval.tools_hash = "th";
  approval.principal = "alice";
  approval.expires = now_ + 1000;
  batch.approvals = {approval};
  ASSERT_EQ(append(*backend, batch).status, AppendStatus::committed);
  EXPECT_TRUE(backend->check().value().empty());
  Decision decision;
  decision.approval = "a";
  decision.principal = "alice";
  decision.decision = R"({"approved":false})";
  decision.by = "alice";
  ASSERT_EQ(backend->decide(decision).value().status, DecisionStatus::decided);
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  // The store's time may have been ahead of the clock that the journal's time is from.
  run_sql("UPDATE approvals SET expires=expires+5");
  EXPECT_TRUE(opened()->check().value().empty());
  run_sql("UPDATE approvals SET expires=expires-6");
  EXPECT_EQ(opened()->check().value().size(), 1U);
  run_sql("UPDATE approvals SET expires=expires+1");
  const std::pair<const char*, const char*> changes[] = {
      {"UPDATE calls SET result=CAST('{\"content\":\"5 apples\"}' AS BLOB) WHERE call='c'", "'c'"},
      {"UPDATE calls SET result=CAST('{\"n\":5}' AS BLOB) WHERE call='buy#1'", "'buy#1'"},
      {"UPDATE approvals SET decision=CAST('{\"approved\":true}' AS BLOB)", "'a'"},
  };
  std::size_t count = 0;
  for (const auto& [sql, name] : changes) {
    run_sql(sql);
    const auto problems = opened()->check().value();
    ASSERT_EQ(problems.size(), ++count) << sql;
    const auto has_name = [part = name](const Problem& problem) {
      return problem.what.find(part) != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), has_name)) << sql;
  }
  run_sql("UPDATE approvals SET decision=CAST('{\"approved\":false}' AS BLOB), args_hash='other'");
  EXPECT_EQ(opened()->check().value().size(), count);
}

TEST_F(SqliteCheck, FindsALedgerOfAChildThatDiffersFromTheJournal) {
  auto backend = opened();
  AppendBatch batch = accepting(new_run(1));
  const std::string child_id = id_of(2).text();
  journal::ToolIntent intent;
  intent.call = "c";
  journal::PageWriter page;
  page.add({.body = journal::Fact(journal::Accepted{})});
  page.add({.body = journal::Fact(journal::ChildStarted{"helper", child_id, "helper", 1})});
  page.add({.branch = 1, .body = journal::Fact(intent)});
  batch.page = page.take();
  NewRun child = new_run(2, "");
  child.root = id_of(1);
  batch.children.push_back(child);
  CallRow call;
  call.run = id_of(2);
  call.call = "c";
  call.name = "pay";
  batch.calls.push_back(call);
  EXPECT_EQ(append(*backend, batch).status, AppendStatus::committed);
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  run_sql("UPDATE calls SET state=3");
  backend = opened();
  const auto problems = backend->check().value();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].run, id_of(2));
}

AppendBatch checkpoint_batch(std::int64_t number, bool is_full, std::string data) {
  AppendBatch batch = text_batch(1, "step");
  batch.checkpoints.push_back({id_of(1), number, 0, is_full, std::move(data)});
  return batch;
}

TEST_F(SqliteCheck, FindsACheckpointThatWasChangedOrIsMissing) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, checkpoint_batch(0, true, R"({"state":{"planted":1}})"));
  append(*backend, checkpoint_batch(1, false, "{}"));
  append(*backend, checkpoint_batch(2, false, "{}"));
  EXPECT_TRUE(backend->check().value().empty());
  backend.reset();
  const std::pair<const char*, const char*> changes[] = {
      {"UPDATE checkpoints SET data=CAST('{\"state\":{\"planted\":2}}' AS BLOB) WHERE number=0",
       "UPDATE checkpoints SET data=CAST('{\"state\":{\"planted\":1}}' AS BLOB) WHERE number=0"},
      {"UPDATE checkpoints SET seq=seq+1 WHERE number=1",
       "UPDATE checkpoints SET seq=seq-1 WHERE number=1"},
  };
  for (const auto& [change, mend] : changes) {
    run_sql(change);
    const auto problems = opened()->check().value();
    ASSERT_EQ(problems.size(), 1U) << change;
    EXPECT_EQ(problems[0].run, id_of(1));
    EXPECT_NE(problems[0].what.find("does not have its checksum"), std::string::npos);
    EXPECT_FALSE(opened()->dump([](const AnyRow&) { return Result<void>(); }).ok()) << change;
    run_sql(mend);
    EXPECT_TRUE(opened()->check().value().empty()) << mend;
  }
  run_sql("DELETE FROM checkpoints WHERE number=1");
  const auto problems = opened()->check().value();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].what.find("Checkpoint 1"), std::string::npos);
}

TEST_F(SqliteCheck, TakesCheckpointsOfEarlierReleases) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, checkpoint_batch(0, true, "{}"));
  backend.reset();
  run_sql("UPDATE checkpoints SET crc=NULL");
  backend = opened();
  EXPECT_TRUE(backend->check().value().empty());
  EXPECT_EQ(backend->checkpoints(id_of(1)).value()[0].checksum, std::nullopt);
}

// One run of six pages, whose rows of the journal are given to `change`; their checksums are made
// anew. Gives what check() finds.
class SqliteChain : public SqliteStore {
 protected:
  struct Row {
    std::uint64_t last = 0;
    std::uint64_t count = 0;
    std::string page;
    std::string hash;
  };

  void write(bool is_compact) {
    auto backend = opened();
    append(*backend, accepting(new_run(1)));
    append(*backend, accepting(new_run(2)));
    for (int page = 0; page < 5; ++page) {
      append(*backend, text_batch(1, "text " + std::to_string(page)));
    }
    AppendBatch end = text_batch(1, "");
    end.page = page_of(journal::Fact(journal::Terminal{}), 1);
    end.changes.push_back({.run = id_of(1), .state = journal::RunState::completed});
    append(*backend, end);
    now_ += *SweepPolicy().compact_ms;
    ASSERT_EQ(backend->sweep(is_compact ? SweepPolicy() : whole_).value().compacted,
              is_compact ? 1U : 0U);
    ASSERT_TRUE(backend->check().value().empty());
  }

  std::vector<Problem> problems_after(const std::function<void(std::vector<Row>& rows)>& change) {
    sqlite3* file = nullptr;
    EXPECT_EQ(sqlite3_open(folder_.file().c_str(), &file), SQLITE_OK);
    std::vector<Row> rows;
    sqlite3_stmt* read = nullptr;
    sqlite3_prepare_v2(file,
                       "SELECT last, count, page, hash FROM journal WHERE run=1 ORDER BY last", -1,
                       &read, nullptr);
    const auto bytes = [&](int column) {
      return std::string(static_cast<const char*>(sqlite3_column_blob(read, column)),
                         static_cast<std::size_t>(sqlite3_column_bytes(read, column)));
    };
    while (sqlite3_step(read) == SQLITE_ROW) {
      rows.push_back({static_cast<std::uint64_t>(sqlite3_column_int64(read, 0)),
                      static_cast<std::uint64_t>(sqlite3_column_int64(read, 1)), bytes(2),
                      bytes(3)});
    }
    sqlite3_finalize(read);
    change(rows);
    sqlite3_exec(file, "DELETE FROM journal WHERE run=1", nullptr, nullptr, nullptr);
    for (const Row& row : rows) {
      sqlite3_stmt* put = nullptr;
      sqlite3_prepare_v2(file,
                         "INSERT INTO journal(run, last, count, crc, page, hash)"
                         " VALUES(1, ?, ?, ?, ?, ?)",
                         -1, &put, nullptr);
      sqlite3_bind_int64(put, 1, static_cast<std::int64_t>(row.last));
      sqlite3_bind_int64(put, 2, static_cast<std::int64_t>(row.count));
      sqlite3_bind_int64(put, 3,
                         journal::checksum_of(row.page, id_of(1).bytes(), row.last, row.count));
      sqlite3_bind_blob(put, 4, row.page.data(), static_cast<int>(row.page.size()),
                        SQLITE_TRANSIENT);
      sqlite3_bind_blob(put, 5, row.hash.data(), static_cast<int>(row.hash.size()),
                        SQLITE_TRANSIENT);
      EXPECT_EQ(sqlite3_step(put), SQLITE_DONE);
      sqlite3_finalize(put);
    }
    sqlite3_close(file);
    return opened()->check().value();
  }

  SweepPolicy whole_{.compact_ms = std::nullopt};

  void expect_found(const std::function<void(std::vector<Row>& rows)>& change,
                    const std::string& what) {
    const auto problems = problems_after(change);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].run, id_of(1));
    EXPECT_NE(problems[0].what.find(what), std::string::npos) << problems[0].what;
  }
};

TEST_F(SqliteChain, IsWholeWhereNothingChanged) {
  write(false);
  EXPECT_TRUE(problems_after([](auto&) {}).empty());
}

TEST_F(SqliteChain, FindsARecordThatWasChanged) {
  write(false);
  expect_found([](auto& rows) { rows[2].page.back() ^= 1; }, "ends at record 3");
}

TEST_F(SqliteChain, FindsRecordsThatChangedPlaces) {
  write(false);
  expect_found([](auto& rows) { std::swap(rows[2].page, rows[3].page); }, "ends at record 3");
}

TEST_F(SqliteChain, FindsRecordsThatChangedPlacesWithTheirHashes) {
  write(false);
  expect_found(
      [](auto& rows) {
        std::swap(rows[2].page, rows[3].page);
        std::swap(rows[2].hash, rows[3].hash);
      },
      "ends at record 3");
}

TEST_F(SqliteChain, FindsARecordThatWasDropped) {
  write(false);
  expect_found([](auto& rows) { rows.erase(rows.begin() + 2); }, "before 4 are missing");
}

TEST_F(SqliteChain, FindsARecordThatWasDroppedAndTheRestNumberedAnew) {
  write(false);
  const auto problems = problems_after([](auto& rows) {
    rows.erase(rows.begin() + 2);
    for (std::size_t at = 2; at < rows.size(); ++at) rows[at].last -= 1;
  });
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_NE(problems[0].what.find("ends at record 3"), std::string::npos);
  EXPECT_NE(problems[1].what.find("behind 6 are missing: the run has 7"), std::string::npos);
}

TEST_F(SqliteChain, FindsThatTheLastRecordsAreMissing) {
  write(false);
  expect_found([](auto& rows) { rows.pop_back(); }, "behind 6 are missing");
}

TEST_F(SqliteChain, FindsThatAllRecordsAreMissing) {
  write(false);
  expect_found([](auto& rows) { rows.clear(); }, "behind 0 are missing");
}

TEST_F(SqliteChain, IsTheSameInLessRoom) {
  write(true);
  expect_found(
      [](auto& rows) {
        ASSERT_EQ(rows.size(), 1U);
        const std::size_t at = rows[0].page.find("text 3");
        ASSERT_NE(at, std::string::npos);
        rows[0].page[at + 5] = '9';
      },
      "ends at record 7");
}

TEST_F(SqliteChain, FindsAPageThatCannotBeExpanded) {
  write(true);
  expect_found([](auto& rows) { rows[0].page.pop_back(); }, "cannot be read");
}

TEST_F(SqliteChain, FindsARunThatDiffersFromItsJournal) {
  write(false);
  run_sql("UPDATE runs SET state=6 WHERE no=1");
  const auto problems = opened()->check().value();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].what.find("'failed', and 'completed' in the journal"), std::string::npos);
}

}  // namespace
}  // namespace millrace::store
