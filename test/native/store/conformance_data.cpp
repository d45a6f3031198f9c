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
  ApprovalQuery one;
  one.id = "b";
  ASSERT_EQ(backend().approvals(one).value().size(), 1U);
  EXPECT_EQ(backend().approvals(one).value().front().id, "b");
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

TEST_P(StorageConformance, DecidesAllThatIsAnsweredAtOnceOrNothing) {
  append(accepting(new_run(1)));
  append(accepting(new_run(2)));
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a"), approval("b")};
  append(batch);
  change(1, RunState::waiting);
  std::vector<Decision> both{decision("a"), decision("b")};
  const std::uint64_t last = row(1).last;
  const auto statuses = [&] {
    std::vector<DecisionStatus> list;
    const auto outcomes = backend().decide(both);
    for (const DecisionOutcome& one : outcomes.value()) list.push_back(one.status);
    return list;
  };
  using Statuses = std::vector<DecisionStatus>;
  both[1].run = id_of(2);
  EXPECT_EQ(statuses(), (Statuses{DecisionStatus::decided, DecisionStatus::not_found}));
  both[1] = decision("zzz");
  EXPECT_EQ(statuses(), (Statuses{DecisionStatus::decided, DecisionStatus::not_found}));
  both[1] = both[0];
  EXPECT_EQ(statuses(), (Statuses{DecisionStatus::decided, DecisionStatus::answered}));
  EXPECT_EQ(row(1).last, last);
  EXPECT_EQ(row(1).state, RunState::waiting);
  both[1] = decision("b");
  both[1].run = id_of(1);
  EXPECT_EQ(statuses(), (Statuses{DecisionStatus::decided, DecisionStatus::decided}));
  EXPECT_EQ(row(1).last, last + 2);
  EXPECT_EQ(row(1).state, RunState::queued);
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

// The store's own time never goes back, also where a clock was ahead once.
TEST_P(StorageConformance, LetsApprovalsBeGivenOnceAClockIsRightAgain) {
  now_ += 1'000'000;
  append(accepting(new_run(1)));
  now_ -= 1'000'000;
  AppendBatch batch = text_batch(1, "asked");
  batch.approvals = {approval("a", now_ + 50), approval("b", now_ + 50)};
  batch.changes.push_back({.run = id_of(1), .state = RunState::waiting});
  append(batch);
  EXPECT_TRUE(backend().sweep({}).value().expired.empty());
  EXPECT_EQ(backend().next_due().value(), std::optional(backend().now() + 50));
  EXPECT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::decided);
  now_ += 1'000'050;
  EXPECT_EQ(backend().sweep({}).value().expired.size(), 1U);
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

TEST_P(StorageConformance, LetsRunsGoOnWhoseClientsAreLate) {
  append(accepting(new_run(1)));
  AppendBatch answered = text_batch(1, "asked");
  answered.approvals = {approval("a")};
  append(answered);
  ASSERT_EQ(backend().decide(decision("a")).value().status, DecisionStatus::decided);
  AppendBatch batch = text_batch(1, "waits");
  batch.changes.push_back({.run = id_of(1), .state = RunState::waiting, .deadline = now_ + 50});
  append(batch);
  const auto row = [&] { return *backend().run(id_of(1)).value(); };
  EXPECT_EQ(row().state, RunState::waiting);
  EXPECT_EQ(row().run.deadline, now_ + 50);
  EXPECT_EQ(backend().next_due().value(), std::optional(now_ + 50));
  EXPECT_TRUE(backend().sweep({}).value().expired.empty());
  EXPECT_TRUE(claim().empty());
  now_ += 50;
  const auto report = backend().sweep({});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().expired.size(), 1U);
  EXPECT_EQ(report.value().expired[0].run, id_of(1));
  EXPECT_TRUE(backend().sweep({}).value().expired.empty());
  const auto claims = claim();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_TRUE(goes_on_without_client(claims[0].run));
}

// The deadline is a time of the clock, which the store's own time may be ahead of.
TEST_P(StorageConformance, LetsClientsHaveTheirTimeOnceAClockIsRightAgain) {
  now_ += 1'000'000;
  append(accepting(new_run(1)));
  now_ -= 1'000'000;
  AppendBatch batch = text_batch(1, "waits");
  batch.changes.push_back({.run = id_of(1), .state = RunState::waiting, .deadline = now_ + 50});
  append(batch);
  EXPECT_TRUE(backend().sweep({}).value().expired.empty());
  EXPECT_EQ(backend().next_due().value(), std::optional(backend().now() + 50));
  now_ += 50;
  EXPECT_EQ(backend().sweep({}).value().expired.size(), 1U);
}

TEST_P(StorageConformance, LetsNoRunWaitForWhatWasAnsweredWhileItWorked) {
  for (const std::uint64_t number : {1U, 2U, 3U, 4U}) append(accepting(new_run(number)));
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    AppendBatch batch = text_batch(number, "asked");
    const std::string id(1, static_cast<char>('a' + number));
    batch.approvals = {approval(id, now_ + 50)};
    batch.approvals[0].run = id_of(number);
    append(batch);
  }
  EXPECT_EQ(backend().decide(decision("b")).value().status, DecisionStatus::decided);
  EXPECT_EQ(change(1, RunState::waiting).status, AppendStatus::committed);
  EXPECT_EQ(row(1).state, RunState::queued);
  EXPECT_EQ(row(1).run.owner, "");
  // One that is open still is waited for, until it expires.
  EXPECT_EQ(change(3, RunState::waiting).status, AppendStatus::committed);
  EXPECT_EQ(row(3).state, RunState::waiting);
  now_ += 60;
  EXPECT_TRUE(backend().sweep({}).ok());
  EXPECT_EQ(change(2, RunState::waiting).status, AppendStatus::committed);
  EXPECT_EQ(row(2).state, RunState::queued);
  EXPECT_EQ(row(3).state, RunState::queued);
  // It waits for something else than approvals.
  EXPECT_EQ(change(4, RunState::waiting).status, AppendStatus::committed);
  EXPECT_EQ(row(4).state, RunState::waiting);
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
            (std::vector<MessageRow>{{"a", 0, "1", id_of(1)}, rows[0], rows[1]}));
  // A thread that is ahead of the clock stays where it is.
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", 1, now_ + 9, ""}).ok());
  const MessageRow other{"d", 0, "4"};
  EXPECT_TRUE(backend().put_messages("alice", "t", {&other, 1}).ok());
  EXPECT_EQ(backend().thread("alice", "t").value()->updated, now_ + 9);
  append(accepting(new_run(2, "", "t")));
  EXPECT_EQ(backend().thread("alice", "t").value()->updated, now_ + 9);
  EXPECT_EQ(backend().messages("alice", "t").value()[0], other);
  EXPECT_EQ(backend().messages("alice", "t").value().size(), 3U);
  const MessageRow last[]{{"c", 0, "5"}, {"e", 1, "6"}};
  EXPECT_TRUE(backend().set_messages("alice", "t", last).ok());
  EXPECT_EQ(backend().messages("alice", "t").value(), (std::vector<MessageRow>{last[0], last[1]}));
  EXPECT_TRUE(backend().set_messages("alice", "t", {}).ok());
  EXPECT_TRUE(backend().messages("alice", "t").value().empty());
  EXPECT_EQ(backend().set_messages("bob", "t", last).error().code, Errc::invalid_argument);
}

TEST_P(StorageConformance, GivesTheThreadOfARunItsMessages) {
  AppendBatch first = accepting(new_run(1, "owner", "t"));
  first.thread = ThreadUpdate{
      "Hello",
      {{"old", "0", MessageRule::history}, {"u1", "1"}, {"u1", "twice"}, {"", "without an id"}}};
  EXPECT_EQ(append(first).status, AppendStatus::committed);
  EXPECT_EQ(backend().thread("alice", "t").value()->title, "Hello");
  EXPECT_EQ(backend().messages("alice", "t").value(),
            (std::vector<MessageRow>{{"old", 0, "0", id_of(1)},
                                     {"u1", 1, "1", id_of(1)},
                                     {"", 2, "without an id", id_of(1)}}));

  now_ += 5;
  AppendBatch end = text_batch(1, "x");
  end.thread = ThreadUpdate{"Another title",
                            {{"older", "-1", MessageRule::history},
                             {"u1", "not taken"},
                             {"a1", "half", MessageRule::put},
                             {"a2", "2", MessageRule::put},
                             {"a1", "whole", MessageRule::put},
                             {"old", "edited", MessageRule::put}}};
  EXPECT_EQ(append(end).status, AppendStatus::committed);
  const auto thread = backend().thread("alice", "t").value();
  EXPECT_EQ(thread->title, "Hello");
  EXPECT_EQ(thread->updated, now_);
  EXPECT_EQ(thread->created, now_ - 5);
  const std::vector<MessageRow> all{{"old", 0, "edited", id_of(1)},
                                    {"u1", 1, "1", id_of(1)},
                                    {"", 2, "without an id", id_of(1)},
                                    {"a1", 3, "whole", id_of(1)},
                                    {"a2", 4, "2", id_of(1)}};
  EXPECT_EQ(backend().messages("alice", "t").value(), all);

  // All of a batch or nothing.
  AppendBatch late = text_batch(1, "x", 7);
  late.thread = ThreadUpdate{"", {{"a3", "3", MessageRule::put}}};
  EXPECT_EQ(append(late).status, AppendStatus::fenced);
  EXPECT_EQ(backend().messages("alice", "t").value(), all);
}

TEST_P(StorageConformance, CutsAThreadWithTheRunThatAnswersAgain) {
  append(accepting(new_run(1, "owner", "t")));
  AppendBatch first = text_batch(1, "answer");
  first.thread =
      ThreadUpdate{"", {{"u", R"({"n":1})"}, {"a", R"({"n":2})"}, {"b", R"({"n":3})"}}, {}};
  append(first);
  end(1);
  AppendBatch again = accepting(new_run(2, "owner", "t"));
  again.thread = ThreadUpdate{"",
                              {{"u", R"({"n":4})", MessageRule::change},
                               {"none", "{}", MessageRule::change},
                               {"c", R"({"n":5})"}},
                              "u"};
  // A batch that is not committed cuts nothing.
  AppendBatch failing = again;
  failing.calls.emplace_back().run = id_of(7);
  EXPECT_EQ(append(failing).status, AppendStatus::failed);
  EXPECT_EQ(backend().messages("alice", "t").value().size(), 3U);
  EXPECT_FALSE(backend().thread("alice", "t").value()->is_cut);
  EXPECT_EQ(append(again).status, AppendStatus::committed);
  const std::vector<MessageRow> wanted{{"u", 0, R"({"n":4})"}, {"c", 1, R"({"n":5})", id_of(2)}};
  EXPECT_EQ(backend().messages("alice", "t").value(), wanted);
  EXPECT_TRUE(backend().thread("alice", "t").value()->is_cut);
  // One behind a message that is not there is none.
  AppendBatch more = text_batch(2, "x");
  more.thread = ThreadUpdate{"", {}, "gone"};
  append(more);
  EXPECT_EQ(backend().messages("alice", "t").value(), wanted);
}

TEST_P(StorageConformance, GivesNoMessagesToARunWithoutAThread) {
  AppendBatch batch = accepting(new_run(1));
  batch.thread = ThreadUpdate{"Hello", {{"u", "1"}}};
  EXPECT_EQ(append(batch).status, AppendStatus::failed);
  EXPECT_FALSE(backend().run(id_of(1)).value());
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

TEST_P(StorageConformance, DeletesTheAttachmentsThatOnlyAThreadRefersTo) {
  std::map<std::string, std::string> hashes;
  const auto put = [&](const std::string& id, const std::string& principal,
                       const std::string& thread) {
    hashes[id] = backend().put_blob("bytes of " + id).value();
    AttachmentRow row{id, principal, thread, "a.png", "image/png", hashes[id], now_};
    ASSERT_TRUE(backend().put_attachment(row).ok());
  };
  for (const char* thread : {"t", "t2"}) {
    ASSERT_TRUE(backend().put_thread({"alice", thread, "", 1, 1, ""}).ok());
  }
  ASSERT_TRUE(backend().put_thread({"bob", "t", "", 1, 1, ""}).ok());
  put("sent", "alice", "");
  put("given", "alice", "");
  put("shared", "alice", "");
  put("of run", "alice", "t");
  put("copied", "alice", "t");
  put("loose", "alice", "");
  put("foreign", "bob", "");
  const auto message = [](std::vector<const char*> ids) {
    std::string json = R"({"role":"user","content":"\"attachments\"","attachments":[7)";
    for (const char* id : ids) json += std::string(R"(,{"uid":")") + id + "\"}";
    return json + "]}";
  };
  const std::vector<MessageRow> first{{"m1", 0, message({"sent", "shared", "foreign"})}};
  ASSERT_TRUE(backend().set_messages("alice", "t", first).ok());
  append(accepting(new_run(1, "owner", "t")));
  AppendBatch batch = text_batch(1, "x");
  batch.thread = ThreadUpdate{"", {{"m2", message({"given"})}}, {}};
  ASSERT_EQ(append(batch).status, AppendStatus::committed);
  end(1);
  const std::vector<MessageRow> other{{"m1", 0, message({"shared", "copied"})}};
  ASSERT_TRUE(backend().put_messages("alice", "t2", other).ok());
  // Another principal's message keeps nothing.
  ASSERT_TRUE(backend().put_messages("bob", "t", first).ok());
  const auto is_there = [&](const char* id, const char* principal = "alice") {
    const bool has_row = backend().attachment(principal, id).value().has_value();
    EXPECT_EQ(backend().blob(hashes[id]).value().has_value(), has_row) << id;
    return has_row;
  };
  EXPECT_TRUE(backend().delete_thread("alice", "t").value());
  for (const char* gone : {"sent", "given", "of run"}) EXPECT_FALSE(is_there(gone)) << gone;
  for (const char* id : {"shared", "copied", "loose"}) EXPECT_TRUE(is_there(id)) << id;
  EXPECT_TRUE(is_there("foreign", "bob"));
  EXPECT_EQ(backend().attachment("alice", "copied").value()->thread, "");
  EXPECT_TRUE(backend().delete_thread("alice", "t2").value());
  for (const char* gone : {"shared", "copied"}) EXPECT_FALSE(is_there(gone)) << gone;
  EXPECT_TRUE(is_there("loose"));
}

TEST_P(StorageConformance, ClearsTheMessagesOfAThread) {
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", 1, 1, ""}).ok());
  const std::vector<MessageRow> rows{{"a", 0, "{}"}, {"b", 1, "{}"}};
  ASSERT_TRUE(backend().put_messages("alice", "t", rows).ok());
  EXPECT_EQ(backend().clear_messages("bob", "t").value(), 0U);
  EXPECT_EQ(backend().clear_messages("alice", "t").value(), 2U);
  EXPECT_TRUE(backend().messages("alice", "t").value().empty());
  EXPECT_TRUE(backend().thread("alice", "t").value());
  EXPECT_EQ(backend().clear_messages("alice", "t").value(), 0U);
}

TEST_P(StorageConformance, KeepsArtifacts) {
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", 1, 1, ""}).ok());
  ASSERT_TRUE(backend().put_thread({"bob", "t", "", 1, 1, ""}).ok());
  EXPECT_FALSE(backend().put_artifact({"a", "alice", "none", "html", "A", 1, ""}).ok());
  ASSERT_TRUE(backend().put_artifact({"a", "alice", "t", "html", "A", 1, "one"}).ok());
  ASSERT_TRUE(backend().put_artifact({"a", "alice", "t", "html", "A2", 2, "two"}).ok());
  // An id is one of its principal.
  ASSERT_TRUE(backend().put_artifact({"a", "bob", "t", "html", "B", 2, "mine"}).ok());
  EXPECT_EQ(backend().artifact("bob", "a").value()->content, "mine");
  EXPECT_FALSE(backend().artifact("carol", "a").value());
  EXPECT_FALSE(backend().delete_artifact("carol", "a").value());
  EXPECT_TRUE(backend().delete_artifact("bob", "a").value());
  const auto found = backend().artifact("alice", "a").value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->content, "two");
  EXPECT_EQ(found->title, "A2");
  EXPECT_FALSE(backend().artifact("bob", "a").value());
  const auto listed = backend().artifacts("alice", "t").value();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].content, "");
  ASSERT_TRUE(backend().put_thread({"alice", "t2", "", 1, 1, ""}).ok());
  ASSERT_TRUE(backend().put_artifact({"c", "alice", "t", "html", "C", 3, "three"}).ok());
  ASSERT_TRUE(backend().put_artifact({"b", "alice", "t2", "html", "B", 4, "four"}).ok());
  ASSERT_TRUE(backend().put_artifact({"b2", "bob", "t", "html", "B", 4, "four"}).ok());
  const auto all = backend().artifacts_of("alice", "", 2).value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "a");
  EXPECT_EQ(all[1].id, "b");
  EXPECT_EQ(all[1].thread, "t2");
  EXPECT_EQ(all[1].content, "");
  const auto rest = backend().artifacts_of("alice", "b", 2).value();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].id, "c");
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
  EXPECT_EQ(backend().attachment("alice", "att").value()->size, 6);
  EXPECT_FALSE(backend().attachment("bob", "att").value());
  row.hash = std::string(64, '0');
  EXPECT_EQ(backend().put_attachment(row).error().code, Errc::invalid_argument);
  EXPECT_EQ(backend().sweep({}).value().blobs, 0U);
  now_ += *SweepPolicy().blobs_ms;
  SweepPolicy never;
  never.blobs_ms = std::nullopt;
  EXPECT_EQ(backend().sweep(never).value().blobs, 0U);
  EXPECT_EQ(backend().sweep({}).value().blobs, 1U);
  EXPECT_FALSE(backend().blob(unused).value());
  EXPECT_TRUE(backend().blob(hash.value()).value());
  // Or with the attachment that has others now, also where a sweep has passed them.
  AttachmentRow changed{"third", "alice", "t", "c.png", "image/png", {}, now_};
  changed.hash = backend().put_blob("before").value();
  const std::string before = changed.hash;
  EXPECT_TRUE(backend().put_attachment(changed).ok());
  now_ += *SweepPolicy().blobs_ms;
  EXPECT_EQ(backend().sweep({}).value().blobs, 0U);
  changed.hash = hash.value();
  EXPECT_TRUE(backend().put_attachment(changed).ok());
  EXPECT_FALSE(backend().blob(before).value());
  EXPECT_TRUE(backend().delete_attachment("alice", "third").value());
  // Bytes go with the last attachment that has them.
  row.id = "second";
  row.hash = hash.value();
  EXPECT_TRUE(backend().put_attachment(row).ok());
  EXPECT_FALSE(backend().delete_attachment("bob", "att").value());
  EXPECT_TRUE(backend().delete_attachment("alice", "att").value());
  EXPECT_TRUE(backend().blob(hash.value()).value());
  EXPECT_TRUE(backend().delete_attachment("alice", "second").value());
  EXPECT_FALSE(backend().blob(hash.value()).value());
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

TEST_P(StorageConformance, DeliversWhatWaitsForARunWithItsEnd) {
  EXPECT_EQ(backend().next_outbox().value(), std::nullopt);
  AppendBatch batch = accepting(new_run(1));
  batch.outbox = {{"a", id_of(1), "http://a", "1", 0, millrace::store::after_run}};
  append(batch);
  AppendBatch other = accepting(new_run(2));
  other.outbox = {{"b", id_of(2), "http://b", "2", 0, millrace::store::after_run}};
  append(other);
  append(text_batch(1, "x"));
  EXPECT_EQ(backend().next_outbox().value(), millrace::store::after_run);
  change(1, RunState::waiting);
  EXPECT_TRUE(backend().outbox(10).value().empty());
  ASSERT_TRUE(backend().claim_run(id_of(1), "owner").value());
  now_ += 7;
  AppendBatch end;
  end.run = id_of(1);
  end.epoch = row(1).epoch;
  end.changes = {{id_of(1), RunState::failed}};
  append(end);
  const auto due = backend().outbox(10).value();
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].id, "a");
  EXPECT_EQ(due[0].next_at, now_);
  EXPECT_EQ(backend().next_outbox().value(), now_);
}

TEST_P(StorageConformance, ChangesARowOfTheOutboxOnceWithWhatItAdds) {
  AppendBatch batch = accepting(new_run(1));
  const std::int64_t later = millrace::store::after_run;
  batch.outbox = {{"maker", id_of(1), "", "1", 0, later},
                  {"other", id_of(1), "http://x", "x", 0, later}};
  append(batch);
  const auto open = backend().open_outbox(10).value();
  ASSERT_EQ(open.size(), 1U);
  const std::vector<millrace::store::OutboxRow> made{{"made", {}, "http://a", "a", 0, now_}};
  EXPECT_TRUE(backend().change_outbox(open[0], "2", made).value());
  // Who has seen another body comes too late.
  EXPECT_FALSE(backend().change_outbox(open[0], "3", {}).value());
  const auto due = backend().outbox(10).value();
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].id, "made");
  EXPECT_EQ(due[0].run, id_of(1));
  const auto again = backend().open_outbox(10).value();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].body, "2");
  EXPECT_TRUE(backend().change_outbox(again[0], "", {}).value());
  EXPECT_TRUE(backend().open_outbox(10).value().empty());
}

TEST_P(StorageConformance, HoldsARunUntilItIsBegun) {
  auto made = new_run(1);
  made.owner.clear();
  made.run_at = millrace::store::until_begun;
  append(accepting(made));
  now_ += std::int64_t{1} << 40U;
  const std::string name = "support";
  EXPECT_TRUE(backend().claim({&name, 1}, "owner", 10).value().empty());
  EXPECT_TRUE(backend().begin_held(id_of(1)).value());
  EXPECT_FALSE(backend().begin_held(id_of(1)).value());
  EXPECT_FALSE(backend().begin_held(id_of(2)).value());
  EXPECT_EQ(backend().claim({&name, 1}, "owner", 10).value().size(), 1U);
}

TEST_P(StorageConformance, CountsWhatKeysUse) {
  const std::int64_t now_us = now_ * 1000;
  const auto spend = [&](std::vector<KeySpending> spent) { return backend().spend(spent).value(); };
  auto rows = spend({{"a", 7, 2, 500}, {"b", 7, 1, 0}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].key, "a");
  EXPECT_EQ(rows[0].requests, 2);
  EXPECT_EQ(rows[0].free_at_us, now_us + 500);
  EXPECT_EQ(rows[1].free_at_us, now_us);
  // Another process, whose day has not begun, counts for the minute alone.
  rows = spend({{"a", 6, 5, 300}, {"a", 7, 1, 0}});
  EXPECT_EQ(rows[1].requests, 3);
  EXPECT_EQ(rows[1].free_at_us, now_us + 800);
  rows = spend({{"a", 8, 4, 0}});
  EXPECT_EQ(rows[0].day, 8);
  EXPECT_EQ(rows[0].requests, 4);
  now_ += 10;
  EXPECT_EQ(spend({{"a", 8, 0, 0}})[0].free_at_us, now_us + 10'000);
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
