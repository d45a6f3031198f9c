// Approvals, threads, what hangs on them, and retention.
#include "store/conformance.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

ApprovalRow approval(std::string id, std::int64_t expires = 0) {
  ApprovalRow row;
  row.id = std::move(id);
  row.run = id_of(1);
  row.call = "call";
  row.principal = "alice";
  row.args_hash = "args";
  row.tools_hash = "tools";
  row.shown = R"({"tool":"pay"})";
  row.expires = expires;
  return row;
}

Decision decision(std::string id) {
  Decision made;
  made.approval = std::move(id);
  made.principal = "alice";
  made.decision = "true";
  made.by = "alice@desk";
  return made;
}

TEST_P(StorageConformance, AnswersAnApprovalOnce) {
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a"), approval("b")};
  batch.changes.push_back({.run = id_of(1), .state = RunState::waiting});
  ASSERT_EQ(append(batch).status, AppendStatus::committed);
  EXPECT_EQ(backend().approvals({}).value().size(), 2U);
  EXPECT_TRUE(claim().empty());

  const auto decided = backend().decide(decision("a"));
  ASSERT_TRUE(decided.ok());
  EXPECT_EQ(decided.value().status, DecisionStatus::decided);
  EXPECT_EQ(decided.value().run, id_of(1));
  EXPECT_EQ(decided.value().seq, 3U);
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::answered);
  EXPECT_EQ(texts_of(backend(), 1), "#|asked|#");
  EXPECT_EQ(backend().approvals({}).value().size(), 1U);
  ApprovalQuery all;
  all.open_only = false;
  const auto rows = backend().approvals(all).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].decision, "true");
  EXPECT_EQ(rows[0].decided_by, "alice@desk");
  EXPECT_EQ(rows[0].shown, R"({"tool":"pay"})");
  // The run goes on once all are answered.
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(row(1).state, RunState::waiting);
  EXPECT_EQ(backend().decide(decision("b")).value().status, DecisionStatus::decided);
  ASSERT_EQ(claim().size(), 1U);
  EXPECT_EQ(row(1).last, 5U);
}

TEST_P(StorageConformance, ShowsAnApprovalToItsPrincipalAlone) {
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a", now_ + 50)};
  append(batch);
  Decision other = decision("a");
  other.principal = "bob";
  EXPECT_EQ(backend().decide(other).value().status, DecisionStatus::not_found);
  EXPECT_EQ(backend().decide(decision("zzz")).value().status, DecisionStatus::not_found);
  ApprovalQuery bobs;
  bobs.principal = "bob";
  EXPECT_TRUE(backend().approvals(bobs).value().empty());
  other = decision("a");
  other.tools_hash = "changed";
  EXPECT_EQ(backend().decide(other).value().status, DecisionStatus::mismatch);
  other.tools_hash = "tools";
  other.args_hash = "changed";
  EXPECT_EQ(backend().decide(other).value().status, DecisionStatus::mismatch);
  now_ += 50;
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::expired);
  EXPECT_EQ(texts_of(backend(), 1), "#|asked");
}

TEST_P(StorageConformance, LetsApprovalsExpireAndTheirRunsGoOn) {
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a", now_ + 50), approval("b")};
  batch.changes.push_back({.run = id_of(1), .state = RunState::waiting});
  append(batch);
  EXPECT_TRUE(backend().sweep({}).value().expired.empty());
  EXPECT_EQ(backend().next_due().value(), std::optional(now_ + 50));
  now_ += 50;
  const auto report = backend().sweep({});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().expired.size(), 1U);
  EXPECT_EQ(report.value().expired[0].run, id_of(1));
  EXPECT_TRUE(backend().sweep({}).value().expired.empty());
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::expired);
  EXPECT_EQ(texts_of(backend(), 1), "#|asked|#");
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(StorageConformance, CountsNoRecoveryAfterAnOwnerThatLetsGo) {
  append(accepting(new_run(1)));
  EXPECT_EQ(backend().release("owner", Release::clean).value(), 1U);
  auto claims = claim();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].cause, "released");
  EXPECT_EQ(claims[0].run.recoveries, 0);
  EXPECT_EQ(claims[0].run.head, "");
  EXPECT_EQ(backend().release("next", Release::lost).value(), 1U);
  claims = claim();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].cause, "recovered");
  EXPECT_EQ(claims[0].run.recoveries, 1);
}

TEST_P(StorageConformance, ClosesTheApprovalsOfARunThatIsOver) {
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a"), approval("b")};
  append(batch);
  EXPECT_EQ(backend().decide(decision("b")).value().status, DecisionStatus::decided);
  AppendBatch end = text_batch(1, "stopped");
  end.changes.push_back({.run = id_of(1), .state = RunState::cancelled});
  append(end);
  EXPECT_TRUE(backend().approvals({}).value().empty());
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::expired);
  EXPECT_EQ(backend().decide(decision("b")).value().status, DecisionStatus::answered);
}

TEST_P(StorageConformance, KeepsAnApprovalThatIsRequestedAgain) {
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a", now_ + 50), approval("b")};
  append(batch);
  EXPECT_EQ(backend().decide(decision("b")).value().status, DecisionStatus::decided);
  AppendBatch again = text_batch(1, "asked again");
  again.approvals = {approval("a", now_ + 500), approval("b")};
  append(again);
  EXPECT_EQ(backend().decide(decision("b")).value().status, DecisionStatus::answered);
  now_ += 50;
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::expired);
}

TEST_P(StorageConformance, LetsNoClockThatIsSetBackRenewAnApproval) {
  append(accepting(new_run(1)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a", now_ + 50)};
  append(batch);
  now_ += 60;
  const std::int64_t seen = backend().now();
  now_ -= 3'600'000;
  EXPECT_EQ(backend().now(), seen);
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::expired);
}

TEST_P(StorageConformance, KeepsThreadsOfOnePrincipalFromAnother) {
  EXPECT_TRUE(backend().put_thread({"alice", "t", "First", 1, 1, "{}"}).ok());
  EXPECT_TRUE(backend().put_thread({"bob", "t", "Bob's", 2, 2, ""}).ok());
  EXPECT_TRUE(backend().put_thread({"alice", "t", "Second", 9, 5, "{}"}).ok());
  const auto mine = backend().thread("alice", "t").value();
  ASSERT_TRUE(mine);
  EXPECT_EQ(mine->title, "Second");
  EXPECT_EQ(mine->created, 1);
  EXPECT_EQ(mine->updated, 5);
  EXPECT_FALSE(backend().thread("carol", "t").value());
  const MessageRow message{"m", 0, "{}"};
  EXPECT_TRUE(backend().put_messages("alice", "t", {&message, 1}).ok());
  EXPECT_TRUE(backend().messages("bob", "t").value().empty());
  EXPECT_EQ(backend().put_messages("carol", "t", {&message, 1}).error().code,
            Errc::invalid_argument);
}

TEST_P(StorageConformance, ListsThreadsTheLastChangedFirst) {
  for (int thread = 0; thread < 5; ++thread) {
    const std::string id = "t" + std::to_string(thread);
    ASSERT_TRUE(backend().put_thread({"alice", id, id, 1, thread / 2, ""}).ok());
  }
  const auto first = backend().threads("alice", "", 3).value();
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].id, "t4");
  EXPECT_EQ(first[1].id, "t3");
  EXPECT_EQ(first[2].id, "t2");
  const auto rest = backend().threads("alice", "t2", 3).value();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].id, "t1");
  EXPECT_TRUE(backend().threads("alice", "unknown", 3).value().empty());
}

TEST_P(StorageConformance, PutsMessagesInTheirPlaces) {
  append(accepting(new_run(1, "owner", "t")));
  AppendBatch batch = text_batch(1, "x");
  batch.messages = {{"a", 0, "1"}, {"b", 1, "2"}};
  EXPECT_EQ(append(batch).status, AppendStatus::committed);
  const MessageRow rows[]{{"b", 1, "2 edited"}, {"c", 2, std::string("\xED\xA0\x80\0", 4)}};
  EXPECT_TRUE(backend().put_messages("alice", "t", rows).ok());
  EXPECT_EQ(backend().messages("alice", "t").value(),
            (std::vector<MessageRow>{{"a", 0, "1"}, rows[0], rows[1]}));
  const MessageRow other{"d", 0, "4"};
  EXPECT_TRUE(backend().put_messages("alice", "t", {&other, 1}).ok());
  EXPECT_EQ(backend().messages("alice", "t").value()[0], other);
  EXPECT_EQ(backend().messages("alice", "t").value().size(), 3U);
}

TEST_P(StorageConformance, DeletesAThreadWithAllThatHangsOnIt) {
  append(accepting(new_run(1, "owner", "t")));
  append(accepting(new_run(2, "owner", "other")));
  ASSERT_TRUE(backend().put_artifact({"art", "alice", "t", "html", "A", 1, "<p>"}).ok());
  const MessageRow message{"m", 0, "{}"};
  ASSERT_TRUE(backend().put_messages("alice", "t", {&message, 1}).ok());
  EXPECT_FALSE(backend().delete_thread("bob", "t").value());
  EXPECT_TRUE(backend().delete_thread("alice", "t").value());
  EXPECT_FALSE(backend().delete_thread("alice", "t").value());
  EXPECT_TRUE(backend().messages("alice", "t").value().empty());
  EXPECT_FALSE(backend().artifact("alice", "art").value());
  EXPECT_FALSE(backend().run(id_of(1)).value());
  EXPECT_TRUE(backend().run(id_of(2)).value());
}

TEST_P(StorageConformance, KeepsArtifacts) {
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", 1, 1, ""}).ok());
  ASSERT_TRUE(backend().put_thread({"bob", "t", "", 1, 1, ""}).ok());
  EXPECT_FALSE(backend().put_artifact({"a", "alice", "none", "html", "A", 1, ""}).ok());
  ASSERT_TRUE(backend().put_artifact({"a", "alice", "t", "html", "A", 1, "one"}).ok());
  ASSERT_TRUE(backend().put_artifact({"a", "alice", "t", "html", "A2", 2, "two"}).ok());
  EXPECT_FALSE(backend().put_artifact({"a", "bob", "t", "html", "B", 2, "mine"}).ok());
  const auto found = backend().artifact("alice", "a").value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->content, "two");
  EXPECT_EQ(found->title, "A2");
  EXPECT_FALSE(backend().artifact("bob", "a").value());
  const auto listed = backend().artifacts("alice", "t").value();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].content, "");
  EXPECT_FALSE(backend().delete_artifact("bob", "a").value());
  EXPECT_TRUE(backend().delete_artifact("alice", "a").value());
}

TEST_P(StorageConformance, KeepsBlobsWhileSomethingRefersToThem) {
  const std::string bytes("\0\xff png", 6);
  const auto hash = backend().put_blob(bytes);
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(backend().put_blob(bytes).value(), hash.value());
  EXPECT_EQ(hash.value().size(), 64U);
  EXPECT_EQ(backend().blob(hash.value()).value(), std::optional(bytes));
  EXPECT_FALSE(backend().blob(std::string(64, '0')).value());
  EXPECT_FALSE(backend().blob("no hash").value());
  const auto unused = backend().put_blob("unused").value();
  AttachmentRow row{"att", "alice", "t", "a.png", "image/png", hash.value(), now_};
  EXPECT_TRUE(backend().put_attachment(row).ok());
  EXPECT_EQ(backend().attachment("alice", "att").value()->hash, hash.value());
  EXPECT_FALSE(backend().attachment("bob", "att").value());
  row.hash = std::string(64, '0');
  EXPECT_EQ(backend().put_attachment(row).error().code, Errc::invalid_argument);
  EXPECT_EQ(backend().sweep({}).value().blobs, 0U);
  now_ += SweepPolicy().blobs_ms;
  EXPECT_EQ(backend().sweep({}).value().blobs, 1U);
  EXPECT_FALSE(backend().blob(unused).value());
  EXPECT_TRUE(backend().blob(hash.value()).value());
  EXPECT_TRUE(backend().delete_attachment("alice", "att").value());
  EXPECT_EQ(backend().sweep({}).value().blobs, 1U);
}

TEST_P(StorageConformance, DeliversTheOutboxInItsOrder) {
  AppendBatch batch = accepting(new_run(1));
  batch.outbox = {{"b", id_of(1), "http://b", "2", 0, now_ + 5},
                  {"a", id_of(1), "http://a", "1", 0, now_}};
  append(batch);
  EXPECT_EQ(backend().outbox(10).value().size(), 1U);
  now_ += 10;
  ASSERT_EQ(backend().outbox(10).value().size(), 2U);
  EXPECT_EQ(backend().outbox(10).value()[0].id, "a");
  EXPECT_TRUE(backend().settle_outbox("a", now_ + 100).ok());
  ASSERT_EQ(backend().outbox(10).value().size(), 1U);
  EXPECT_TRUE(backend().settle_outbox("b", std::nullopt).ok());
  now_ += 100;
  const auto rows = backend().outbox(10).value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].tries, 1);
}

TEST_P(StorageConformance, RemovesTheEventsOfOldRuns) {
  append(accepting(new_run(1)));
  append(accepting(new_run(2)));
  append(text_batch(1, "x"));
  change(1, RunState::completed);
  now_ += SweepPolicy().events_ms;
  EXPECT_EQ(backend().sweep({}).value().journals, 1U);
  EXPECT_EQ(backend().sweep({}).value().journals, 0U);
  EXPECT_EQ(texts_of(backend(), 1), "");
  EXPECT_EQ(row(1).last, 2U);
  EXPECT_EQ(texts_of(backend(), 2), "#");
}

TEST_P(StorageConformance, FindsNothingWrongWithItself) {
  append(accepting(new_run(1)));
  for (int page = 0; page < 50; ++page) append(text_batch(1, "x"));
  const auto problems = backend().check();
  ASSERT_TRUE(problems.ok());
  EXPECT_TRUE(problems.value().empty());
  EXPECT_TRUE(backend().tidy().ok());
  EXPECT_TRUE(backend().renew("owner").ok());
}

}  // namespace
}  // namespace millrace::store
