#include "journal/answer_trace.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace millrace::journal {
namespace {

std::string trace_of(std::initializer_list<event::Event> events) {
  AnswerTrace trace;
  for (const event::Event& event : events) trace.add(event);
  return trace.text();
}

TEST(AnswerTrace, IsTheSameHoweverTheTextWasCut) {
  const std::string whole =
      trace_of({{event::TextStart{"m"}}, {event::TextDelta{"m", "Hello"}}, {event::TextEnd{"m"}}});
  EXPECT_EQ(trace_of({{event::TextStart{"m"}},
                      {event::TextDelta{"m", "Hel"}},
                      {event::TextDelta{"m", ""}},
                      {event::Usage{}},
                      {event::AnswerInfo{"{}"}},
                      {event::TextDelta{"m", "lo"}},
                      {event::TextEnd{"m"}}}),
            whole);
  EXPECT_NE(trace_of({{event::TextStart{"m"}}, {event::TextDelta{"m", "Hello"}}}), whole);
}

TEST(AnswerTrace, KnowsNoOrderAmongPartsThatGrowTogether) {
  const event::Event a{event::ToolArgs{"a", "1"}};
  const event::Event b{event::ToolArgs{"b", "2"}};
  EXPECT_EQ(trace_of({a, b}), trace_of({b, a}));
  EXPECT_NE(trace_of({a, {event::ToolEnd{"a"}}, b}), trace_of({b, {event::ToolEnd{"a"}}, a}));
}

TEST(AnswerTrace, JoinsHalvesOfACharacter) {
  EXPECT_EQ(
      trace_of({{event::TextDelta{"m", "\xED\xA0\xBC"}}, {event::TextDelta{"m", "\xED\xBC\x8A"}}}),
      trace_of({{event::TextDelta{"m", "\xF0\x9F\x8C\x8A"}}}));
}

TEST(AnswerTrace, BeginsAnewWhereTheAnswerIsTakenBack) {
  const event::Event text{event::TextDelta{"m", "Hello"}};
  EXPECT_EQ(trace_of({text, {event::Reset{"r", 1, "[]"}}, text}), trace_of({text}));
  EXPECT_EQ(trace_of({text, {event::Retry{1, 0, "c", "m"}}}), "");
}

TEST(AnswerTrace, TellsIdsAndNamesApart) {
  EXPECT_NE(trace_of({{event::TextStart{"m"}}}), trace_of({{event::TextStart{"n"}}}));
  EXPECT_NE(trace_of({{event::ToolStart{"c", "look"}}}),
            trace_of({{event::ToolStart{"c", "pay"}}}));
}

}  // namespace
}  // namespace millrace::journal
