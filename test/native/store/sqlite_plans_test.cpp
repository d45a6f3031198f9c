// How SQLite finds what the store asks for: nothing that is listed or done again and again may read
// all rows of a table.
#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "store/sqlite_store.hpp"

namespace millrace::store {
namespace {

// The texts of the statements that this process's connections begin.
std::set<std::string>& statements() {
  static std::set<std::string> texts;
  return texts;
}

int note_statement(unsigned /*what*/, void* /*context*/, void* statement, void* /*text*/) {
  const char* text = sqlite3_sql(static_cast<sqlite3_stmt*>(statement));
  if (text != nullptr) statements().insert(text);
  return 0;
}

int trace(sqlite3* handle, char** /*error*/, const void* /*api*/) {
  return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT, note_statement, nullptr);
}

class SqlitePlans : public SqliteStore {
 protected:
  SqlitePlans() {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how SQLite takes it.
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(trace));
  }
  ~SqlitePlans() override { sqlite3_reset_auto_extension(); }

  // Lines of the plans of what has run since the last call, each behind the text of its statement.
  std::vector<std::string> plans() {
    const std::set<std::string> texts = std::exchange(statements(), {});
    std::vector<std::string> lines;
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(folder_.file().c_str(), &handle), SQLITE_OK);
    for (const std::string& text : texts) {
      sqlite3_stmt* plan = nullptr;
      const std::string explained = "EXPLAIN QUERY PLAN " + text;
      if (sqlite3_prepare_v2(handle, explained.c_str(), -1, &plan, nullptr) != SQLITE_OK) continue;
      while (sqlite3_step(plan) == SQLITE_ROW) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a text of SQLite.
        const auto* line = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
        lines.push_back(text + "\n  " + line);
      }
      sqlite3_finalize(plan);
    }
    sqlite3_close(handle);
    statements().clear();
    return lines;
  }
  // Those that read a table from its beginning to its end, or sort what they found.
  std::vector<std::string> slow_plans(bool may_sort = false) {
    std::vector<std::string> found = plans();
    EXPECT_FALSE(found.empty());
    std::erase_if(found, [&](const std::string& line) {
      const bool sorts = !may_sort && line.find("USE TEMP B-TREE") != std::string::npos;
      const std::size_t scan = line.find("\n  SCAN ");
      // Small ones: the schema, meta, recent pages, and lists of JSON. And the first row of an
      // index, and what another part of the statement has found.
      const bool is_small = line.find(" meta", scan) != std::string::npos ||
                            line.find(" recent", scan) != std::string::npos ||
                            line.find("sqlite_master", scan) != std::string::npos ||
                            line.find("VIRTUAL TABLE", scan) != std::string::npos ||
                            line.find("SCAN (subquery-", scan) != std::string::npos ||
                            (line.find(" LIMIT 1\n") != std::string::npos &&
                             line.find(" INDEX ") != std::string::npos);
      return !sorts && (scan == std::string::npos || is_small);
    });
    return found;
  }
};

TEST_F(SqlitePlans, ListRunsByAnIndex) {
  auto backend = opened();
  append(*backend, accepting(new_run(1, "owner", "thread")));
  append(*backend, accepting(new_run(2)));
  statements().clear();
  const std::string cursor = run_cursor(*backend->run(id_of(2)).value());
  for (const bool has_principal : {false, true}) {
    for (const bool has_thread : {false, true}) {
      for (const bool has_states : {false, true}) {
        RunQuery query;
        if (has_principal) query.principal = "alice";
        if (has_thread) query.thread = "thread";
        if (has_states) query.states = {journal::RunState::running, journal::RunState::waiting};
        query.with_children = has_states;
        query.before = has_states ? "" : cursor;
        ASSERT_TRUE(backend->runs(query).ok());
      }
    }
  }
  EXPECT_EQ(slow_plans(), std::vector<std::string>());
}

TEST_F(SqlitePlans, ListThreadsAndApprovalsByAnIndex) {
  auto backend = opened();
  append(*backend, accepting(new_run(1, "owner", "thread")));
  statements().clear();
  ASSERT_TRUE(backend->threads("alice", "", 10).ok());
  ASSERT_TRUE(backend->threads("alice", "thread", 10).ok());
  ASSERT_TRUE(backend->messages("alice", "thread").ok());
  ASSERT_TRUE(backend->artifacts("alice", "thread").ok());
  ASSERT_TRUE(backend->artifacts_of("alice", "", 10).ok());
  ASSERT_TRUE(backend->children(id_of(1)).ok());
  ASSERT_TRUE(backend->segments("alice", "r").ok());
  ASSERT_TRUE(backend->outbox(10).ok());
  ApprovalQuery of_principal;
  of_principal.principal = "alice";
  ASSERT_TRUE(backend->approvals(of_principal).ok());
  ApprovalQuery of_run;
  of_run.run = id_of(1);
  of_run.open_only = false;
  ASSERT_TRUE(backend->approvals(of_run).ok());
  ApprovalQuery of_id;
  of_id.id = "a";
  ASSERT_TRUE(backend->approvals(of_id).ok());
  EXPECT_EQ(slow_plans(true), std::vector<std::string>());
}

TEST_F(SqlitePlans, OpenClaimAndSweepByAnIndex) {
  opened();
  statements().clear();
  auto backend = opened();
  append(*backend, accepting(new_run(1, "", "thread")));
  const std::string name = "support";
  ClaimRequest request{{name}, "owner", 10, {}};
  request.limits.total = 5;
  ASSERT_EQ(backend->claim(request).value().size(), 1U);
  ASSERT_TRUE(backend->next_due().ok());
  ASSERT_TRUE(backend->next_outbox().ok());
  ASSERT_TRUE(backend->sweep({}).ok());
  AppendBatch end = text_batch(1, "over");
  end.changes.push_back({.run = id_of(1), .state = journal::RunState::completed});
  ASSERT_EQ(append(*backend, end).status, AppendStatus::committed);
  ASSERT_TRUE(backend->release("owner", Release::clean).ok());
  ASSERT_TRUE(backend->delete_run(id_of(1)).ok());
  ASSERT_TRUE(backend->delete_thread("alice", "thread").ok());
  EXPECT_EQ(slow_plans(true), std::vector<std::string>());
}

// What a run at work does again and again, and what a page of a thread or a key of the API needs.
TEST_F(SqlitePlans, WorkOnRunsAndThreadsByAnIndex) {
  auto backend = opened();
  append(*backend, accepting(new_run(1, "owner", "thread")));
  statements().clear();
  for (std::int64_t number = 0; number < 4; ++number) {
    AppendBatch batch = text_batch(1, "step");
    batch.checkpoints.push_back({id_of(1), number, 0, number % 2 == 0, "{}"});
    CallRow call;
    call.run = id_of(1);
    call.call = call.name = "pay";
    batch.calls.push_back(call);
    batch.thread = ThreadUpdate{"title", {{"m", R"({"id":"m"})", MessageRule::put}}};
    batch.outbox.push_back({"o" + std::to_string(number), id_of(1), "", "body", 0, after_run});
    ASSERT_EQ(append(*backend, batch).status, AppendStatus::committed);
  }
  const RunId run = id_of(1);
  ASSERT_TRUE(backend->read(run, 1, 1000).ok());
  ASSERT_TRUE(backend->watch({&run, 1}).ok());
  ASSERT_TRUE(backend->run(run).ok());
  ASSERT_TRUE(backend->run_with_key("alice", "key").ok());
  ASSERT_TRUE(backend->checkpoints(run).ok());
  ASSERT_TRUE(backend->calls(run).ok());
  ASSERT_TRUE(backend->work_counts().ok());
  ASSERT_TRUE(backend->starts().ok());
  ASSERT_TRUE(backend->begin_held(run).ok());
  ASSERT_TRUE(backend->renew("owner").ok());
  ASSERT_TRUE(backend->open_outbox(10).ok());
  ASSERT_TRUE(backend->settle_outbox("o1", std::nullopt).ok());
  ASSERT_TRUE(backend->thread("alice", "thread").ok());
  ASSERT_TRUE(backend->count_turns("alice", "thread").ok());
  const KeySpending spent{"key", 1, 1, 1000};
  ASSERT_TRUE(backend->spend({&spent, 1}).ok());
  const std::string hash = backend->put_blob("bytes").value();
  ASSERT_TRUE(backend->put_attachment({"att", "alice", "thread", "a", "m", hash, 1}).ok());
  ASSERT_TRUE(backend->blob_part(hash, 0, 10).ok());
  ASSERT_TRUE(backend->delete_attachment("alice", "att").ok());
  ASSERT_TRUE(backend->clear_messages("alice", "thread").ok());
  std::vector<std::string> slow = slow_plans(true);
  // As many as a time of the longest rate has, read once.
  std::erase_if(slow, [](const std::string& line) {
    return line.find("SCAN s USING INDEX starts_at") != std::string::npos;
  });
  EXPECT_EQ(slow, std::vector<std::string>());
}

}  // namespace
}  // namespace millrace::store
