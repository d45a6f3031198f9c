// What was deleted is in no file of the store.

#include <string>

#include "store/conformance.hpp"
#include "store/sqlite_store.hpp"

namespace millrace::store {
namespace {

const std::string planted = "the planted secret 0123456789";

class SqliteDeletion : public SqliteStore {
 protected:
  // A run that has the text in every table that a run writes to, and large enough for pages of its
  // own.
  void plant(StorageBackend& backend, std::uint64_t number, const std::string& thread) {
    const std::string text = planted + std::string(3000, 'x');
    AppendBatch batch = accepting(new_run(number, "owner", thread));
    batch.accept->idem_key = planted + std::to_string(number);
    batch.accept->plan_hash = batch.accept->version = planted;
    batch.segment =
        SegmentRow{id_of(number), 0, "alice", thread, planted + std::to_string(number), planted};
    batch.thread = ThreadUpdate{planted, {{"m" + std::to_string(number), text}}};
    ASSERT_EQ(append(backend, batch).status, AppendStatus::committed);
    NewRun child = new_run(number + 100, "");
    child.root = child.parent = id_of(number);
    child.parent_call = planted;
    batch = text_batch(number, text);
    batch.children = {child};
    for (const std::uint64_t of : {number, number + 100}) {
      CallRow call;
      call.run = id_of(of);
      call.call = planted;
      call.name = "pay";
      call.args = call.args_hash = call.result = text;
      batch.calls.push_back(call);
      batch.checkpoints.push_back({id_of(of), 0, 0, true, text});
    }
    ApprovalRow approval;
    approval.id = planted + std::to_string(number);
    approval.run = id_of(number);
    approval.call = approval.args_hash = approval.tools_hash = planted;
    approval.principal = "alice";
    approval.shown = text;
    batch.approvals = {approval};
    batch.outbox = {{"o" + std::to_string(number), id_of(number), "http://" + planted, text, 0, 0}};
    RunChange change;
    change.run = id_of(number);
    change.head = planted;
    batch.changes = {change};
    ASSERT_EQ(append(backend, batch).status, AppendStatus::committed);
    Decision decision;
    decision.approval = approval.id;
    decision.principal = "alice";
    decision.decision = decision.edits = decision.by = planted;
    ASSERT_EQ(backend.decide(decision).value().status, DecisionStatus::decided);
  }

  std::string attach(StorageBackend& backend, const std::string& id, const std::string& thread) {
    const auto hash = backend.put_blob(planted + std::string(200'000, 'y'));
    EXPECT_TRUE(
        backend.put_attachment({id, "alice", thread, planted, planted, hash.value(), 1}).ok());
    return hash.value();
  }
};

TEST_F(SqliteDeletion, OfAThreadLeavesNothing) {
  auto backend = opened();
  plant(*backend, 1, "t");
  ASSERT_TRUE(backend->put_thread({"alice", "t", planted, 1, 1, planted}).ok());
  ASSERT_TRUE(backend->put_artifact({planted, "alice", "t", planted, planted, 1, planted}).ok());
  attach(*backend, "att", "t");
  attach(*backend, "named", "");
  const MessageRow file{"file", 100, R"({"attachments":[{"uid":"named"}]})"};
  ASSERT_TRUE(backend->put_messages("alice", "t", {&file, 1}).ok());
  for (int page = 0; page < 30; ++page) {
    append(*backend, text_batch(1, planted + std::string(3000, 'x')));
    const MessageRow message{"n" + std::to_string(page), page + 1, planted};
    ASSERT_TRUE(backend->put_messages("alice", "t", {&message, 1}).ok());
  }
  ASSERT_TRUE(backend->tidy().ok());
  EXPECT_TRUE(is_anywhere(planted));
  ASSERT_TRUE(backend->delete_thread("alice", "t").value());
  EXPECT_FALSE(is_anywhere(planted));
  EXPECT_TRUE(backend->check().value().empty());
}

TEST_F(SqliteDeletion, OfARunLeavesNothing) {
  auto backend = opened();
  plant(*backend, 1, "t");
  append(*backend, accepting(new_run(2, "owner", "other")));
  append(*backend, text_batch(2, "stays"));
  EXPECT_TRUE(is_anywhere(planted));
  ASSERT_TRUE(backend->delete_run(id_of(1)).ok());
  EXPECT_FALSE(is_anywhere(planted));
  EXPECT_TRUE(backend->thread("alice", "t").value());
  EXPECT_EQ(texts_of(*backend, 2), "#|stays");
  EXPECT_TRUE(backend->check().value().empty());
}

// Somebody who reads the log does not hold up the store: the sweep removes what is left there.
TEST_F(SqliteDeletion, LeavesTheLogToTheNextSweepWhileItIsRead) {
  auto backend = opened();
  plant(*backend, 1, "t");
  const auto reader = backend->open_reader();
  reader->read_together([&] {
    EXPECT_TRUE(reader->run(id_of(1)).value());
    EXPECT_TRUE(backend->delete_run(id_of(1)).ok());
    EXPECT_TRUE(reader->run(id_of(1)).value());
  });
  EXPECT_FALSE(reader->run(id_of(1)).value());
  EXPECT_TRUE(is_anywhere(planted));
  EXPECT_TRUE(backend->sweep({}).ok());
  EXPECT_FALSE(is_anywhere(planted));
}

TEST_F(SqliteDeletion, OfLongRecordsTakesMoreThanOneSweep) {
  auto backend = opened();
  append(*backend, accepting(new_run(1)));
  append(*backend, accepting(new_run(2)));
  for (int page = 0; page < 40; ++page) append(*backend, text_batch(1, std::string(1000, 'x')));
  AppendBatch end = text_batch(1, planted);
  end.changes.push_back({.run = id_of(1), .state = journal::RunState::completed});
  ASSERT_EQ(append(*backend, end).status, AppendStatus::committed);
  now_ += *SweepPolicy().events_ms;
  SweepPolicy policy;
  policy.most_bytes = 10'000;
  const auto first = backend->sweep(policy);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first.value().journals, 1U);
  EXPECT_TRUE(first.value().has_more);
  EXPECT_TRUE(is_anywhere(planted));
  // For all others they are gone, and for whoever opens the file next as well.
  backend.reset();
  backend = opened();
  EXPECT_EQ(backend->read(id_of(1), 0, 1000).error().code, Errc::run_not_found);
  EXPECT_TRUE(backend->check().value().empty());
  int sweeps = 1;
  for (bool has_more = true; has_more; ++sweeps) {
    const auto next = backend->sweep(policy);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next.value().journals, 0U);
    has_more = next.value().has_more;
  }
  EXPECT_GE(sweeps, 5);
  ASSERT_TRUE(backend->tidy().ok());
  EXPECT_FALSE(is_anywhere(planted));
  EXPECT_EQ(backend->run(id_of(1)).value()->last, 42U);
  EXPECT_EQ(texts_of(*backend, 2), "#");
  EXPECT_TRUE(backend->check().value().empty());
}

TEST_F(SqliteDeletion, OfARunInLessRoomLeavesNothing) {
  auto backend = opened();
  plant(*backend, 1, "t");
  AppendBatch end = text_batch(1, planted);
  end.epoch = backend->run(id_of(1)).value()->epoch;
  end.changes.push_back({.run = id_of(1), .state = journal::RunState::completed});
  ASSERT_EQ(append(*backend, end).status, AppendStatus::committed);
  now_ += *SweepPolicy().compact_ms;
  ASSERT_EQ(backend->sweep({}).value().compacted, 1U);
  ASSERT_TRUE(backend->delete_run(id_of(1)).ok());
  EXPECT_FALSE(is_anywhere(planted));
}

TEST_F(SqliteDeletion, OfAnAttachmentLeavesNothing) {
  auto backend = opened();
  ASSERT_TRUE(backend->put_thread({"alice", "t", "", 1, 1, ""}).ok());
  const std::string hash = attach(*backend, "att", "t");
  attach(*backend, "second", "");
  ASSERT_TRUE(backend->delete_attachment("alice", "att").value());
  // Another one has the same bytes.
  EXPECT_TRUE(backend->blob(hash).value());
  ASSERT_TRUE(backend->delete_attachment("alice", "second").value());
  EXPECT_FALSE(is_anywhere(planted));
}

TEST_F(SqliteDeletion, OfMessagesLeavesNothing) {
  auto backend = opened();
  ASSERT_TRUE(backend->put_thread({"alice", "t", "", 1, 1, ""}).ok());
  const MessageRow message{"m", 0, planted};
  ASSERT_TRUE(backend->put_messages("alice", "t", {&message, 1}).ok());
  EXPECT_EQ(backend->clear_messages("alice", "t").value(), 1U);
  EXPECT_FALSE(is_anywhere(planted));
}

}  // namespace
}  // namespace millrace::store
