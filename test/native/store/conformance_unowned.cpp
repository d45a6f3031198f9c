// What is committed to a run that nobody works on.
#include <string>
#include <vector>

#include "store/conformance.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

std::vector<std::string> ids_of(const Result<std::vector<MessageRow>>& rows) {
  std::vector<std::string> ids;
  for (const MessageRow& row : rows.value()) ids.push_back(row.id);
  return ids;
}

AppendBatch cancelling(std::uint64_t number, const char* message) {
  AppendBatch batch;
  batch.run = id_of(number);
  batch.page = page_of(journal::Fact(journal::Terminal{RunState::cancelled, {}, {}, {}, {}}), 1);
  RunChange change;
  change.run = batch.run;
  change.state = RunState::cancelled;
  batch.changes.push_back(change);
  batch.thread = ThreadUpdate{"", {{message, "{}"}}};
  return batch;
}

AppendBatch adding(std::uint64_t number, const char* message) {
  AppendBatch batch = text_batch(number, "x");
  batch.thread = ThreadUpdate{"", {{message, R"({"n":1})", MessageRule::put}}};
  return batch;
}

TEST_P(StorageConformance, PutsWhatNeverBeganBehindTheRunAtWork) {
  AppendBatch first = accepting(new_run(1, "owner", "t"));
  first.thread = ThreadUpdate{"", {{"u1", "1"}}};
  ASSERT_EQ(append(first).status, AppendStatus::committed);
  for (const auto& [number, message] : {std::pair(2U, "u2"), std::pair(3U, "u3")}) {
    ASSERT_EQ(append(accepting(new_run(number, "", "t"))).status, AppendStatus::committed);
    ASSERT_TRUE(backend().append_unowned(cancelling(number, message)).value());
  }
  AppendBatch answer = adding(1, "a1");
  answer.thread->messages.push_back({"a2", "2", MessageRule::put});
  answer.thread->messages.push_back({"u3", R"({"n":3})", MessageRule::put});
  ASSERT_EQ(append(answer).status, AppendStatus::committed);
  const std::vector<std::string> wanted{"u1", "a1", "a2", "u2", "u3"};
  EXPECT_EQ(ids_of(backend().messages("alice", "t")), wanted);
  EXPECT_EQ(backend().messages("alice", "t").value()[4].place, 4);
  EXPECT_EQ(backend().messages("alice", "t").value()[4].json, R"({"n":3})");
  end(1);
  // Another turn comes behind all of it.
  AppendBatch next = accepting(new_run(4, "owner", "t"));
  next.thread = ThreadUpdate{"", {{"u4", "4"}}};
  ASSERT_EQ(append(next).status, AppendStatus::committed);
  EXPECT_EQ(ids_of(backend().messages("alice", "t")).back(), "u4");
}

TEST_P(StorageConformance, KeepsWhatAWaitingRunIsToFind) {
  ASSERT_EQ(append(accepting(new_run(1, "owner", "t"))).status, AppendStatus::committed);
  AppendBatch fact;
  fact.run = id_of(1);
  fact.epoch = 1;
  fact.page = page_of(journal::Fact(journal::MessageSent{"m", "{}", false, "alice"}), 1);
  EXPECT_FALSE(backend().append_unowned(fact).value());
  change(1, RunState::waiting);
  const auto before = row(1);
  ASSERT_TRUE(backend().append_unowned(fact).value());
  EXPECT_EQ(row(1).state, RunState::waiting);
  EXPECT_EQ(row(1).last, before.last + 1);
  EXPECT_TRUE(row(1).run.owner.empty());
  fact.epoch = 7;
  EXPECT_FALSE(backend().append_unowned(fact).value());
  // Its thread stays its own.
  EXPECT_EQ(append(accepting(new_run(2, "owner", "t"))).status, AppendStatus::busy);
  const auto claim = backend().claim_run(id_of(1), "next").value();
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->run.state, RunState::running);
}

TEST_P(StorageConformance, KeepsWhatARunIsToFindWhoseProcessEnded) {
  append(accepting(new_run(1)));
  AppendBatch fact;
  fact.run = id_of(1);
  fact.epoch = 1;
  fact.page = page_of(journal::Fact(journal::MessageSent{"m", "{}", false, "alice"}), now_ + 50);
  EXPECT_FALSE(backend().append_unowned(fact).value());
  EXPECT_TRUE(backend().release("owner", Release::lost).ok());
  const auto before = row(1);
  ASSERT_TRUE(backend().append_unowned(fact).value());
  EXPECT_EQ(row(1).state, RunState::running);
  EXPECT_EQ(row(1).last, before.last + 1);
  now_ += 100;
  const auto claims = claim();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].cause, "recovered");
  EXPECT_GE(claims[0].downtime_ms, 100);
  EXPECT_FALSE(backend().append_unowned(fact).value());
}

}  // namespace
}  // namespace millrace::store
