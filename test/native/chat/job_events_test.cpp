#include "chat/job_events.hpp"

#include <gtest/gtest.h>

namespace millrace::chat {
namespace {

using json::Tree;

Tree payload_with(const std::string& text) {
  Tree payload = Tree::object();
  payload.set("content", text);
  return payload;
}

TEST(JobEvents, GivesNoMoreThanAReaderTakes) {
  JobEvents events(EventLimits{});
  events.add("stage", payload_with(""), 1);
  for (int count = 0; count < 1000; ++count)
    events.add_delta("message_delta", Tree::object(), "x", 2);
  events.add("message", payload_with("all"), 3);
  std::size_t seen = 0;
  Cursor at;
  while (true) {
    const auto slice = events.after(at, true, Tree::object(), 256);
    EXPECT_LE(slice.size(), 256U);
    if (slice.empty()) break;
    seen += slice.size();
    at = slice.back().cursor();
  }
  EXPECT_EQ(seen, 1002U);
  EXPECT_EQ(events.after({}, false, Tree::object(), 1).size(), 1U);
}

TEST(JobEvents, DropsOldDeltasBeforeEvents) {
  JobEvents events(EventLimits{0, 40'000});
  events.add("message", payload_with("one"), 1);
  for (int count = 0; count < 80; ++count) {
    events.add_delta("message_delta", Tree::object(), std::string(100, 'd'), 2);
  }
  events.add("message", payload_with("two"), 3);
  for (int count = 0; count < 80; ++count) {
    events.add_delta("message_delta", Tree::object(), std::string(100, 'd'), 4);
  }
  EXPECT_LE(events.bytes(), 40'000U);
  EXPECT_EQ(events.first(), 1U);
  const auto rest = events.after({}, true, Tree::object());
  ASSERT_EQ(rest.size(), 82U);
  EXPECT_EQ(rest[1].cursor(), (Cursor{2, 0}));
}

TEST(JobEvents, HoldsNoMoreThanItsBytes) {
  JobEvents events(EventLimits{0, 100'000});
  for (int count = 0; count < 500; ++count) {
    events.add("message", payload_with(std::string(5000, 'm')), count);
    EXPECT_LE(events.bytes(), 100'000U);
  }
  EXPECT_GT(events.first(), 400U);
  EXPECT_EQ(events.last(), 500U);
  // Deltas of the last event alone may be too many.
  for (int count = 0; count < 500; ++count) {
    events.add_delta("message_delta", Tree::object(), std::string(1000, 'd'), 1);
    EXPECT_LE(events.bytes(), 100'000U);
  }
  const auto rest = events.after({}, true, Tree::object());
  EXPECT_EQ(rest.back().cursor(), events.last_cursor());
  EXPECT_EQ(rest.back().payload["text"].string(), std::string(1000, 'd'));
}

}  // namespace
}  // namespace millrace::chat
