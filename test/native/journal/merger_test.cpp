// What waits for a commit is joined.

#include "journal/merger.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/random_records.hpp"

namespace millrace::journal {
namespace {

// Each record as `branch/part:text`, or its kind.
std::vector<std::string> joined(const Page& page) {
  std::vector<std::string> seen;
  PageReader reader(page.bytes, page.count, page.count);
  for (auto record = reader.next(); record.ok() && record.value() != nullptr;
       record = reader.next()) {
    const auto& entry = *record.value();
    const std::string branch = std::to_string(entry.branch) + "/";
    const auto* event = std::get_if<event::Event>(&entry.body);
    if (event == nullptr) {
      seen.emplace_back("fact");
    } else if (const auto* text = std::get_if<event::TextDelta>(&event->body)) {
      seen.push_back(branch + std::string(text->id) + ":" + std::string(text->delta));
    } else if (const auto* args = std::get_if<event::ToolArgs>(&event->body)) {
      seen.push_back(branch + std::string(args->id) + "(" + std::string(args->delta));
    } else {
      seen.emplace_back("event");
    }
  }
  return seen;
}

event::Event text(std::string_view id, std::string_view delta, std::string_view extra = {},
                  std::string_view subagent = {}) {
  return {event::TextDelta{id, delta}, extra, subagent};
}

using Seen = std::vector<std::string>;

TEST(DeltaMerger, JoinsTheDeltasOfAPart) {
  DeltaMerger merger;
  EXPECT_TRUE(merger.empty());
  merger.add(1, 0, text("a", "one "));
  merger.add(2, 0, text("b", "x"));
  merger.add(3, 0, text("a", "two"));
  merger.add(4, 1, text("a", "child"));
  merger.add(5, 0, event::Event{event::ToolArgs{"a", "{"}, {}, {}});
  merger.add(6, 0, event::Event{event::ToolArgs{"a", "}"}, {}, {}});
  const Page page = merger.take();
  EXPECT_EQ(joined(page), (Seen{"0/a:one two", "0/b:x", "1/a:child", "0/a({}"}));
  EXPECT_EQ(page.count, 4U);
  EXPECT_TRUE(merger.empty());
  EXPECT_EQ(merger.size(), 0U);
}

TEST(DeltaMerger, KnowsWhetherAPersonCanReadWhatWaits) {
  const std::vector<std::pair<event::Body, bool>> rows{
      {event::StepStart{"step-1"}, false},         {event::ToolStart{"c", "look"}, false},
      {event::ToolArgs{"c", "{}"}, false},         {event::TextStart{"m"}, true},
      {event::TextDelta{"m", "hello"}, true},      {event::ReasoningStart{"r"}, true},
      {event::ReasoningDelta{"r", "first"}, true},
  };
  for (const auto& [body, readable] : rows) {
    DeltaMerger merger;
    merger.add(1, 0, event::Event{body, {}, {}});
    EXPECT_EQ(merger.has_text(), readable) << body.index();
    merger.take();
    EXPECT_FALSE(merger.has_text());
  }
}

TEST(DeltaMerger, LetsNoTimeFallFromOnePageToTheNext) {
  DeltaMerger merger;
  merger.begin_at(50);
  merger.add(10, 0, text("m", "a"));
  EXPECT_EQ(merger.take().last_at_ms, 50);
  merger.add(100, 0, text("m", "b"));
  EXPECT_EQ(merger.take().last_at_ms, 100);
  merger.add(70, 0, Fact(StepStarted{1}));
  EXPECT_EQ(merger.take().last_at_ms, 100);
}

TEST(DeltaMerger, KeepsTheOrderRoundWhatIsNoDelta) {
  DeltaMerger merger;
  merger.add(1, 0, text("a", "1"));
  merger.add(1, 0, event::Event{event::TextEnd{"a"}, {}, {}});
  merger.add(1, 0, text("a", "2"));
  merger.add(1, 0, Fact(StepStarted{1}));
  merger.add(1, 0, text("a", "3"));
  EXPECT_EQ(joined(merger.take()), (Seen{"0/a:1", "event", "0/a:2", "fact", "0/a:3"}));
}

TEST(DeltaMerger, LeavesDeltasWithMembersOfTheirOwnAlone) {
  DeltaMerger merger;
  merger.add(1, 0, text("a", "1", R"("timestamp":1)"));
  merger.add(1, 0, text("a", "2", R"("timestamp":2)"));
  merger.add(1, 0, text("a", "3", {}, "sub"));
  merger.add(1, 0, text("a", "4"));
  EXPECT_EQ(joined(merger.take()), (Seen{"0/a:1", "0/a:2", "0/a:3", "0/a:4"}));
}

TEST(DeltaMerger, JoinsTheHalvesOfACharacter) {
  DeltaMerger merger;
  merger.add(1, 0, text("a", "\xED\xA0\xBD"));
  merger.add(1, 0, text("a", "\xED\xB8\x80!"));
  merger.add(1, 0, text("b", "\xED\xA0\xBD"));
  EXPECT_EQ(joined(merger.take()), (Seen{"0/a:\xF0\x9F\x98\x80!", "0/b:\xED\xA0\xBD"}));
}

TEST(DeltaMerger, JoinsNoMoreThanAReaderTakesAtOnce) {
  DeltaMerger merger;
  const std::string piece(6000, 'x');
  for (int n = 0; n < 7; ++n) merger.add(1, 0, text("a", piece));
  merger.add(1, 0, text("b", "other"));
  merger.add(1, 0, text("a", "last"));
  const std::string two = "0/a:" + piece + piece;
  EXPECT_EQ(joined(merger.take()), (Seen{two, two, two, "0/a:" + piece + "last", "0/b:other"}));
}

TEST(DeltaMerger, TakesEmptyPartsAndTexts) {
  DeltaMerger merger;
  merger.add(1, 0, text("", ""));
  merger.add(1, 0, text("", "x"));
  EXPECT_EQ(joined(merger.take()), (Seen{"0/:x"}));
}

TEST(DeltaMerger, AddsAboutFifteenBytesToADelta) {
  DeltaMerger merger;
  const std::string delta(100, 'x');
  for (int part = 0; part < 100; ++part) {
    merger.add(1'700'000'000'000 + part, 0, text("msg_" + std::to_string(part), delta));
  }
  EXPECT_LE(merger.take().bytes.size(), 100U * (100 + 16));
}

}  // namespace
}  // namespace millrace::journal
