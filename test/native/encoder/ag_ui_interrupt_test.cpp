// An interrupt of the producer becomes the outcome of the run.

#include <gtest/gtest.h>

#include "adapter/decoder.hpp"
#include "encoder/ag_ui.hpp"

using namespace millrace;

namespace {

std::string last_frame(std::string_view updates, const std::string& client_version = "1.0") {
  CountingIds ids("id-");
  encoder::AgUiEncoder encoder({"t", "r", "", client_version});
  adapter::Decoder decoder(*adapter::find_wire("langgraph"), {}, ids, encoder);
  EXPECT_TRUE(decoder.feed(updates).ok());
  EXPECT_TRUE(decoder.finish().ok());
  encoder.finish();
  const std::string out = encoder.take();
  const std::size_t last = out.rfind("data: ");
  return out.substr(last + 6, out.size() - last - 8);
}

}  // namespace

TEST(AgUiInterrupt, BecomesTheOutcomeOfTheRun) {
  EXPECT_EQ(last_frame("event: updates\n"
                       R"(data: {"__interrupt__":[{"value":{"question":"Go?","n":1},"id":"i1"}]})"
                       "\n\n"),
            R"({"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt",)"
            R"("interrupts":[{"id":"i1","reason":"langgraph:interrupt","message":"Go?",)"
            R"("metadata":{"value":{"question":"Go?","n":1}}}]}})");
}

TEST(AgUiInterrupt, HasDistinctIdsAndIsTakenOnce) {
  EXPECT_EQ(last_frame("event: updates|sub:1\n"
                       R"(data: {"__interrupt__":[{"value":"A?","id":"a","ns":["sub:1"]}]})"
                       "\n\nevent: updates\n"
                       R"(data: {"__interrupt__":[{"value":"A?","id":"a"},{"value":null}]})"
                       "\n\n"),
            R"({"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt",)"
            R"("interrupts":[{"id":"a","reason":"langgraph:interrupt","message":"A?",)"
            R"("metadata":{"value":"A?"}},{"id":"r-interrupt-2","reason":"langgraph:interrupt",)"
            R"("metadata":{"value":null}}]}})");
}

TEST(AgUiInterrupt, KeepsAnotherQuestionOfTheSameId) {
  const std::string records =
      "event: updates\n"
      R"(data: {"__interrupt__":[{"value":"A?","id":"a"},{"value":"B?","id":"a"}]})"
      "\n\n";
  EXPECT_EQ(last_frame(records + records),
            R"({"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt",)"
            R"("interrupts":[{"id":"a","reason":"langgraph:interrupt","message":"A?",)"
            R"("metadata":{"value":"A?"}},{"id":"r-interrupt-2","reason":"langgraph:interrupt",)"
            R"("message":"B?","metadata":{"value":"B?","id":"a"}}]}})");
}

TEST(AgUiInterrupt, IsKnownToClientsBefore10) {
  const std::string frame = last_frame(
      "event: updates\ndata: {\"__interrupt__\":[{\"value\":\"Go?\",\"id\":\"i\"}]}\n\n", "");
  EXPECT_NE(frame.find(R"("outcome":{"type":"interrupt")"), std::string::npos) << frame;
}

TEST(AgUiInterrupt, IsNotAnOutcomeWhenTheRunFails) {
  const std::string frame = last_frame(
      "event: updates\ndata: {\"__interrupt__\":[{\"value\":\"Go?\",\"id\":\"i\"}]}\n\n"
      "event: error\ndata: {\"error\":\"E\",\"message\":\"m\"}\n\n");
  EXPECT_EQ(frame, R"({"type":"RUN_ERROR","message":"m","code":"E"})");
}

TEST(AgUiInterrupt, IsNothingWhenTheListIsEmpty) {
  EXPECT_EQ(last_frame("event: updates\ndata: {\"__interrupt__\":[]}\n\n"),
            R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})");
}
