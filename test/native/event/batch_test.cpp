#include "event/batch.hpp"

#include <gtest/gtest.h>

namespace millrace::event {
namespace {

Spelling as_host() {
  Spelling spelling;
  spelling.extras = Extras::diagnostic;
  spelling.surrogates = json::Surrogates::keep;
  return spelling;
}

std::string batch_of(std::initializer_list<Event> events) {
  std::string out;
  JsonBatch batch(out, as_host());
  for (const Event& event : events) batch.on_event(event);
  close_batch(out);
  return out;
}

TEST(JsonBatch, WritesOnlyTheDeltaWhereTypeAndIdRepeat) {
  EXPECT_EQ(batch_of({{TextDelta{"m", "a"}}, {TextDelta{"m", "\"b\""}}, {TextDelta{"n", "c"}}}),
            R"([{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"},"\"b\"",)"
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"n","delta":"c"}])");
}

TEST(JsonBatch, TellsKindsWithTheSameIdApart) {
  EXPECT_EQ(batch_of({{TextDelta{"m", "a"}}, {ReasoningDelta{"m", "b"}}, {ToolArgs{"m", "c"}}}),
            R"([{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"},)"
            R"({"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"b"},)"
            R"({"type":"TOOL_CALL_ARGS","toolCallId":"m","delta":"c"}])");
}

TEST(JsonBatch, WritesAnEventWithFurtherMembersWhole) {
  EXPECT_EQ(batch_of({{TextDelta{"m", "a"}}, {TextDelta{"m", "b"}, "\"timestamp\":1"}}),
            R"([{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"},)"
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b","timestamp":1}])");
}

TEST(JsonBatch, KeepsTheIdAcrossOtherEventsAndBatches) {
  std::string out;
  JsonBatch batch(out, as_host());
  batch.on_event(Event{TextDelta{"m", "a"}});
  out.clear();
  batch.on_event(Event{Finish{"stop"}});
  batch.on_event(Event{TextDelta{"m", "b"}});
  batch.add_json("{}");
  close_batch(out);
  EXPECT_EQ(out, R"([{"type":"@finish","reason":"stop"},"b",{}])");
}

TEST(JsonBatch, LeavesAnEmptyTextEmpty) {
  std::string out;
  close_batch(out);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace millrace::event
