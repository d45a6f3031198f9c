// The table of recovery: where a run stood, and what becomes of it.

#include "journal/recovery.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "journal/ledger.hpp"

namespace millrace::journal {
namespace {

constexpr std::int64_t now_ms = 10'000;

struct Entry {
  Fact fact;
  bool is_text = false;
};
const Entry shown_text{StepStarted{}, true};

ToolIntent intent(std::string_view call, Effect effect) {
  ToolIntent fact;
  fact.call = call;
  fact.name = "tool";
  fact.effect = effect;
  return fact;
}

FoldedBranch folded(const std::vector<Entry>& entries) {
  RunFold fold;
  std::uint64_t seq = 0;
  for (const Entry& entry : entries) {
    Record record;
    record.seq = ++seq;
    if (entry.is_text) {
      record.body = event::Event{event::TextDelta{"m", "x"}, {}, {}};
    } else {
      record.body = entry.fact;
    }
    fold.add(record);
  }
  EXPECT_EQ(fold.last(), seq);
  return fold.branches().at(0);
}

struct Row {
  std::string name;
  std::vector<Entry> entries;
  RecoveryMove move;
  std::vector<CallMove> calls = {};
  std::int64_t attempt = 1;
  bool needs_reset = false;
};

const Entry accepted{Accepted{}};
const Entry claimed{Claimed{"o", 1, "", 0}};
const Entry step{StepStarted{1}};
const Entry requested_model{ModelRequested{1, 1, 0}};
const Entry answered{ModelCompleted{1, "stop", "", "", ""}};
const Entry saved{Checkpoint{1, 1, true}};

std::vector<Entry> with_call(Effect effect, std::vector<Entry> more) {
  std::vector<Entry> entries{
      accepted, claimed, step, requested_model, shown_text, answered, Entry{intent("c", effect)}};
  entries.insert(entries.end(), more.begin(), more.end());
  return entries;
}

ApprovalRequested approval(std::int64_t expires_ms) {
  ApprovalRequested fact;
  fact.id = "a";
  fact.call = "c";
  fact.expires_ms = expires_ms;
  return fact;
}

std::vector<Row> rows() {
  const Entry started{ToolStarted{"c", 1}};
  const Entry result{ToolResult{"c", CallState::ok, "done", "", ""}};
  const Entry requested{approval(0)};
  const Entry child{ChildStarted{"c", "run", "agent", 1}};
  const Entry stop{StopRequested{"user", ""}};
  const auto over = [](RunState state) { return Entry{Terminal{state, "", "", "", ""}}; };
  return {
      {"accepted", {accepted}, RecoveryMove::begin_step},
      {"segment", {accepted, Entry{Segment{}}}, RecoveryMove::begin_step},
      {"claimed", {accepted, claimed}, RecoveryMove::begin_step},
      {"step_started", {accepted, claimed, step}, RecoveryMove::begin_step},
      {"checkpoint", {accepted, step, requested_model, answered, saved}, RecoveryMove::begin_step},
      {"model_requested", {accepted, step, requested_model}, RecoveryMove::ask_again, {}, 2},
      {"model_requested, shown",
       {accepted, step, requested_model, shown_text},
       RecoveryMove::ask_again,
       {},
       2,
       true},
      {"model_opened",
       {accepted, step, requested_model, Entry{ModelOpened{1, "r", false}}},
       RecoveryMove::ask_again,
       {},
       2},
      {"model_opened in the background",
       {accepted, step, requested_model, Entry{ModelOpened{1, "r", true}},
        Entry{ModelProgress{17}}},
       RecoveryMove::join_response},
      {"requested three times",
       {accepted, step, Entry{ModelRequested{1, 3, 0}}},
       RecoveryMove::fail,
       {},
       4},
      {"model_completed", {accepted, step, requested_model, answered}, RecoveryMove::begin_step},
      {"tool_intent",
       with_call(Effect::once, {saved}),
       RecoveryMove::begin_step,
       {CallMove::start}},
      {"tool_started, read",
       with_call(Effect::read, {started, saved}),
       RecoveryMove::begin_step,
       {CallMove::repeat}},
      {"tool_started, idempotent",
       with_call(Effect::idempotent, {started}),
       RecoveryMove::begin_step,
       {CallMove::repeat}},
      {"tool_started, keyed",
       with_call(Effect::keyed, {started}),
       RecoveryMove::begin_step,
       {CallMove::repeat}},
      {"tool_started, once",
       with_call(Effect::once, {started}),
       RecoveryMove::begin_step,
       {CallMove::ask_unknown}},
      {"tool_result",
       with_call(Effect::once, {started, result}),
       RecoveryMove::begin_step,
       {CallMove::answer}},
      {"tool_result, then a second call",
       with_call(Effect::once, {started, result, Entry{intent("d", Effect::read)}}),
       RecoveryMove::begin_step,
       {CallMove::answer, CallMove::start}},
      {"approval_requested",
       with_call(Effect::once, {requested}),
       RecoveryMove::wait,
       {CallMove::wait}},
      {"approval_requested, late",
       with_call(Effect::once, {Entry{approval(now_ms)}}),
       RecoveryMove::begin_step,
       {CallMove::take_answer}},
      {"approval_requested, another call open",
       with_call(Effect::once, {requested, Entry{intent("d", Effect::read)}}),
       RecoveryMove::begin_step,
       {CallMove::wait, CallMove::start}},
      {"approval_decided",
       with_call(Effect::once, {requested, Entry{ApprovalDecided{"a", "true", "", "u"}}}),
       RecoveryMove::begin_step,
       {CallMove::take_answer}},
      {"approval_expired",
       with_call(Effect::once, {requested, Entry{ApprovalExpired{"a"}}}),
       RecoveryMove::begin_step,
       {CallMove::take_answer}},
      {"child_started",
       with_call(Effect::once, {child}),
       RecoveryMove::begin_step,
       {CallMove::follow_child}},
      {"child_ended",
       with_call(Effect::once, {child, Entry{ChildEnded{"c", "run", RunState::completed}}}),
       RecoveryMove::begin_step,
       {CallMove::follow_child}},
      {"child_ended, with its result",
       with_call(Effect::once, {child, Entry{ChildEnded{"c", "run", RunState::completed}}, result}),
       RecoveryMove::begin_step,
       {CallMove::answer}},
      {"slept",
       {accepted, Entry{Slept{"nap", 1, now_ms + 1}}},
       RecoveryMove::sleep,
       {CallMove::wake}},
      {"slept, overdue",
       {accepted, Entry{Slept{"nap", 1, now_ms}}},
       RecoveryMove::enter_job,
       {CallMove::answer}},
      {"job_step",
       {accepted, Entry{JobStep{"pay", 1, CallState::ok, "1"}}},
       RecoveryMove::enter_job,
       {CallMove::answer}},
      {"parked, claimed again",
       {accepted, Entry{Parked{"agent_not_registered"}}, claimed},
       RecoveryMove::begin_step},
      {"stop_requested",
       with_call(Effect::read, {started, stop}),
       RecoveryMove::finish_stop,
       {CallMove::leave_unknown}},
      {"stop_requested before the start",
       with_call(Effect::read, {stop}),
       RecoveryMove::finish_stop,
       {CallMove::cancel}},
      {"stop_requested while the model answers",
       {accepted, step, requested_model, shown_text, stop},
       RecoveryMove::finish_stop},
      {"completed", {accepted, over(RunState::completed)}, RecoveryMove::deliver},
      {"failed", {accepted, requested_model, over(RunState::failed)}, RecoveryMove::deliver},
      {"cancelled", with_call(Effect::once, {started, stop, over(RunState::cancelled)}),
       RecoveryMove::deliver},
  };
}

TEST(Recovery, FollowsItsTable) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const RecoveryPlan plan = plan_recovery(folded(row.entries), {now_ms, 1, 0});
    EXPECT_EQ(plan.move, row.move);
    EXPECT_EQ(plan.attempt, row.attempt);
    EXPECT_EQ(plan.needs_reset, row.needs_reset);
    ASSERT_EQ(plan.calls.size(), row.calls.size());
    for (std::size_t at = 0; at < row.calls.size(); ++at) {
      EXPECT_EQ(plan.calls[at].move, row.calls[at]) << at;
    }
  }
}

TEST(Recovery, JoinsABackgroundResponseOnlyWhileTheProviderKeepsIt) {
  const FoldedBranch branch = folded(
      {accepted, requested_model, Entry{ModelOpened{1, "resp", true}}, Entry{ModelProgress{17}}});
  const RecoveryPlan soon = plan_recovery(branch, {now_ms, 1, 599'999});
  EXPECT_EQ(soon.response_id, "resp");
  EXPECT_EQ(soon.upstream_seq, 17);
  EXPECT_EQ(plan_recovery(branch, {now_ms, 1, 600'000}).move, RecoveryMove::ask_again);
}

// Journals of earlier releases have no such facts, or none with records: the response is read from
// its beginning.
TEST(Recovery, GoesOnWithinAResponseOfWhichItHasTheRecords) {
  const Entry opened{ModelOpened{1, "resp", true}};
  const auto plan_of = [](std::vector<Entry> entries) {
    entries.insert(entries.begin(), {accepted, step, requested_model});
    return plan_recovery(folded(entries), {now_ms, 20, 0});
  };
  const RecoveryPlan plan = plan_of({opened, Entry{ModelProgress{3, "{\"a\":1}\n"}}, shown_text,
                                     Entry{ModelProgress{17, "{\"b\":2}\n"}}});
  EXPECT_TRUE(goes_on_within(plan));
  EXPECT_EQ(plan.upstream_seq, 17);
  EXPECT_EQ(plan.records, "{\"a\":1}\n{\"b\":2}\n");
  // Nothing is generated again, so it counts as no attempt, however often it is cut.
  EXPECT_EQ(plan.attempt, 1);
  const Entry recovered{Claimed{"o", 2, "recovered", 0}};
  EXPECT_EQ(folded({accepted, requested_model, opened, recovered, recovered,
                    Entry{ModelProgress{3, "{}\n"}}, recovered})
                .recoveries,
            1);
  EXPECT_FALSE(goes_on_within(plan_of({opened, shown_text})));
  EXPECT_FALSE(goes_on_within(plan_of({opened, Entry{ModelProgress{17}}})));
  // The next reading begins anew.
  const RecoveryPlan again = plan_of({opened, Entry{ModelProgress{17, "{}\n"}}, opened});
  EXPECT_EQ(again.move, RecoveryMove::join_response);
  EXPECT_FALSE(goes_on_within(again));
  EXPECT_EQ(again.upstream_seq, 0);
}

// A record that ends each process that reads it would be joined for good.
TEST(Recovery, JoinsAResponseWithoutProgressOnlySoOften) {
  const FoldedBranch branch =
      folded({accepted, step, requested_model, Entry{ModelOpened{1, "resp", true}},
              Entry{ModelProgress{17, "{}\n"}}, shown_text});
  EXPECT_TRUE(goes_on_within(plan_recovery(branch, {now_ms, 20, 0})));
  const RecoveryPlan anew = plan_recovery(branch, {now_ms, 21, 0});
  EXPECT_EQ(anew.move, RecoveryMove::join_response);
  EXPECT_FALSE(goes_on_within(anew));
  EXPECT_TRUE(anew.was_shown);
  EXPECT_EQ(plan_recovery(branch, {now_ms, 50, 0}).move, RecoveryMove::join_response);
  EXPECT_EQ(plan_recovery(branch, {now_ms, 51, 0}).move, RecoveryMove::bury);
}

// A process that lets go of a run in good order takes its request back: once, however many
// processes follow it before the next request.
TEST(Recovery, CountsNoRequestOfAProcessThatLetGoOfTheRun) {
  const Entry released{Claimed{"o", 2, "released", 0}};
  const Entry again{ModelRequested{1, 2, 0}};
  const auto attempt_after = [](std::vector<Entry> entries) {
    entries.insert(entries.begin(), {accepted, step});
    return plan_recovery(folded(entries), {now_ms, 1, 0}).attempt;
  };
  EXPECT_EQ(attempt_after({requested_model, again}), 3);
  EXPECT_EQ(attempt_after({requested_model, again, released}), 2);
  EXPECT_EQ(attempt_after({requested_model, again, released, released}), 2);
  EXPECT_EQ(attempt_after({requested_model, released, requested_model, released}), 1);
}

TEST(Recovery, BuriesWhatWasRecoveredTooOften) {
  const FoldedBranch branch = folded({accepted, requested_model});
  EXPECT_EQ(plan_recovery(branch, {now_ms, 5, 0}).move, RecoveryMove::ask_again);
  EXPECT_EQ(plan_recovery(branch, {now_ms, 6, 0}).move, RecoveryMove::bury);
  const FoldedBranch stopped = folded({accepted, requested_model, Entry{StopRequested{"u", ""}}});
  EXPECT_EQ(plan_recovery(stopped, {now_ms, 6, 0}).move, RecoveryMove::finish_stop);
}

TEST(Recovery, BuriesNobodyWhoOnlyWaits) {
  const auto move_of = [](const std::vector<Entry>& entries) {
    return plan_recovery(folded(entries), {now_ms, 60, 0}).move;
  };
  const Entry question{approval(now_ms + 1)};
  EXPECT_EQ(move_of({accepted, question}), RecoveryMove::wait);
  EXPECT_EQ(move_of({accepted, Entry{Slept{"nap", 1, now_ms + 1}}}), RecoveryMove::sleep);
  // What is at work beside it may be what ends the process.
  EXPECT_EQ(
      move_of({accepted, Entry{intent("c", Effect::read)}, Entry{ToolStarted{"c", 1}}, question}),
      RecoveryMove::bury);
  EXPECT_EQ(move_of({accepted, question, requested_model}), RecoveryMove::bury);
  EXPECT_EQ(move_of({accepted, Entry{approval(now_ms)}}), RecoveryMove::bury);
  EXPECT_EQ(move_of({accepted, Entry{Slept{"nap", 1, now_ms}}}), RecoveryMove::bury);
}

TEST(Recovery, WakesAtTheFirstOfSeveralSleeps) {
  const RecoveryPlan plan = plan_recovery(
      folded({accepted, Entry{Slept{"a", 1, now_ms + 9}}, Entry{Slept{"b", 1, now_ms + 5}}}),
      {now_ms, 1, 0});
  EXPECT_EQ(plan.move, RecoveryMove::sleep);
  EXPECT_EQ(plan.wake_at_ms, now_ms + 5);
}

TEST(Recovery, KeepsBranchesApart) {
  RunFold fold;
  fold.add({.seq = 1, .body = Fact(Accepted{})});
  fold.add({.seq = 2, .body = Fact(Claimed{"o", 3, "", 0})});
  fold.add({.seq = 3, .body = Fact(ChildStarted{"c", "run", "agent", 1})});
  fold.add({.seq = 4, .branch = 1, .body = Fact(ModelRequested{1, 1, 0})});
  EXPECT_EQ(fold.epoch(), 3);
  EXPECT_EQ(fold.claims(), 1);
  EXPECT_EQ(plan_recovery(fold.branches().at(0), {now_ms, 1, 0}).move, RecoveryMove::begin_step);
  EXPECT_EQ(plan_recovery(fold.branches().at(1), {now_ms, 1, 0}).move, RecoveryMove::ask_again);
}

TEST(Ledger, LetsNothingHappenToWhatIsOver) {
  for (const CallState over :
       {CallState::ok, CallState::error, CallState::denied, CallState::cancelled}) {
    for (int to = 0; to < 8; ++to) EXPECT_FALSE(may_become(over, static_cast<CallState>(to)));
  }
  EXPECT_TRUE(may_become(CallState::started, CallState::unknown));
  EXPECT_FALSE(may_become(CallState::intent, CallState::unknown));
  EXPECT_TRUE(may_become(CallState::unknown, CallState::ok));
  const auto moved = check_move("c7", CallState::ok, CallState::started);
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, Errc::invalid_state);
  EXPECT_NE(moved.error().message.find("c7"), std::string::npos);
}

}  // namespace
}  // namespace millrace::journal
