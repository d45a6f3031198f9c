// Whatever the records are: numbers without gaps, the same events at each reading and from any
// piece, no secret shown.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "chat/job_log.hpp"
#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using journal::CallKind;
using journal::CallState;
using journal::RunState;

constexpr std::string_view secret = "hunter2-hunter2";

// Records that no run would write in this order.
class AnyRecords {
 public:
  explicit AnyRecords(unsigned seed) : random_(seed) {}

  RecordList make() {
    RecordList list;
    list.begin();
    const std::size_t count = pick(120);
    for (std::size_t at = 0; at < count; ++at) add(list);
    if (pick(3) > 0) list.end(static_cast<RunState>(5 + pick(4)), R"({"message":"gone"})");
    return list;
  }

 private:
  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  std::string_view id() {
    constexpr auto ids = std::to_array<std::string_view>({"a", "b", "a/b", "c", ""});
    return ids.at(pick(ids.size()));
  }

  void add(RecordList& list) {
    const auto branch = static_cast<std::uint32_t>(pick(3));
    list.wait(static_cast<std::int64_t>(pick(4)) - 1);
    switch (pick(4)) {
      case 0: return add_host(list);
      case 1: return add_fact(list, branch);
      case 2: return add_tool_event(list, branch);
      default: return add_text(list, branch);
    }
  }

  void add_host(RecordList& list) {
    constexpr auto events =
        std::to_array<std::string_view>({"tool_start", "tool_end", "agent_start", "agent_end",
                                         "agent_stage", "requires_action", "stage", "token_delta"});
    json::Tree payload = json::Tree::object();
    for (const std::string_view key :
         {"tool_call_id", "webchat_call_id", "parent_webchat_call_id", "name", "stage"}) {
      if (pick(2) == 0) payload.set(key, id());
    }
    payload.set("is_agent", json::Tree::flag(pick(2) == 0));
    for (const std::string_view key : {"arguments", "result", "detail"}) {
      payload.set(key, "password=" + std::string(secret) + " shown");
    }
    list.emit(events.at(pick(events.size())), list.text(payload.to_json()));
  }

  void add_fact(RecordList& list, std::uint32_t branch) {
    switch (pick(9)) {
      case 0: return void(list.fact(journal::StepStarted{1}, branch));
      case 1: return void(list.fact(journal::ModelRequested{1, 1, 0}, branch));
      case 2: {
        journal::ToolIntent fact;
        fact.call = id();
        fact.name = "tool";
        fact.kind = static_cast<CallKind>(pick(4));
        fact.args_json = R"({"password":"hunter2-hunter2"})";
        return void(list.fact(fact, branch));
      }
      case 3: return void(list.fact(journal::ToolStarted{id(), 1}, branch));
      case 4: {
        journal::ToolResult fact;
        fact.call = id();
        fact.status = static_cast<CallState>(3 + pick(5));
        return void(list.fact(fact, branch));
      }
      case 5: {
        const auto number = static_cast<std::int64_t>(pick(4)) - 1;
        return void(list.fact(journal::ChildStarted{id(), "run", "agent", number}, branch));
      }
      case 6: return void(list.fact(journal::Claimed{"o", 2, "", 0}));
      case 7: {
        journal::ApprovalRequested fact;
        fact.id = id();
        fact.call = id();
        return void(list.fact(fact));
      }
      default: return void(list.fact(journal::ApprovalDecided{id(), "{}", "", ""}));
    }
  }

  void add_tool_event(RecordList& list, std::uint32_t branch) {
    switch (pick(6)) {
      case 0: return void(list.event(event::ToolStart{id(), "tool", {}, pick(2) == 0}, branch));
      case 1:
        return void(list.event(event::ToolArgs{id(), R"({"token":"hunter2-hunter2"})"}, branch));
      case 2: return void(list.event(event::ToolEnd{id()}, branch));
      case 3: return void(list.event(event::ToolResult{"m", id(), "result"}, branch));
      case 4: return void(list.event(event::Reset{"error", 1}, branch));
      default: return void(list.event(event::Retry{1, 0, "code", "message"}, branch));
    }
  }

  void add_text(RecordList& list, std::uint32_t branch) {
    switch (pick(6)) {
      case 0: return void(list.event(event::TextStart{id()}, branch));
      case 1: return void(list.event(event::TextDelta{id(), "text"}, branch));
      case 2: return void(list.event(event::TextEnd{id()}, branch));
      case 3: return void(list.event(event::Finish{"stop"}, branch));
      case 4: return void(list.event(event::ReasoningStart{id()}, branch));
      default: return void(list.event(event::ReasoningDelta{id(), "why"}, branch));
    }
  }

  std::mt19937 random_;
};

TEST(JobProperty, NumbersHaveNoGapsAndEachReadingIsTheSame) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RecordList list = AnyRecords(seed).make();
    JobOptions options = job_options();
    options.has_deltas = true;
    const JobLog log = log_of(list, options);
    const std::vector<JobEvent> all = log.events_after(0);
    for (std::size_t at = 0; at < all.size(); ++at) ASSERT_EQ(all[at].seq, at + 1) << seed;
    ASSERT_EQ(log.last_seq(), all.size());
    const std::vector<JobEvent> deltas = log.events_after(Cursor{});
    ASSERT_TRUE(std::is_sorted(
        deltas.begin(), deltas.end(),
        [](const auto& one, const auto& other) { return one.cursor() < other.cursor(); }));
    ASSERT_EQ(written(log_of(list, options).events_after(Cursor{})), written(deltas)) << seed;
    ASSERT_EQ(written(log_of(list).events_after(0)), written(all)) << seed;
    ASSERT_EQ(written(deltas).find(secret), std::string::npos) << written(deltas);
    const auto ends = std::count_if(all.begin(), all.end(), [](const JobEvent& event) {
      return event.event == "done" || event.event == "error";
    });
    ASSERT_EQ(ends, log.is_over() ? 1 : 0);
    if (log.is_over()) {
      ASSERT_EQ(log.snapshot(0).to_json(), log.snapshot(1 << 30).to_json());
    }
  }
}

TEST(JobProperty, AnEarlierReadingIsTheBeginningOfALaterOne) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RecordList list = AnyRecords(seed).make();
    JobOptions options = job_options();
    options.has_deltas = true;
    const std::string whole = written(log_of(list, options).events_after(Cursor{}));
    JobLog log(options);
    std::string pieces;
    Cursor cursor;
    for (const journal::Record& record : list.records) {
      log.take(record);
      pieces += written(log.events_after(cursor));
      cursor = log.last_cursor();
      ASSERT_TRUE(whole.starts_with(pieces)) << seed;
      for (const JobEvent& live : log.live(record.at_ms, cursor.seq)) {
        ASSERT_EQ(live.seq, cursor.seq);
      }
    }
    ASSERT_EQ(pieces, whole) << seed;
  }
}

}  // namespace
}  // namespace millrace::chat
