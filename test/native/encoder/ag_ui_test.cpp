// What the encoder writes to clients of 1.0 and to older ones.

#include "encoder/ag_ui.hpp"

#include <gtest/gtest.h>

using namespace millrace;
using encoder::AgUiEncoder;

namespace {

constexpr std::string_view run_started =
    "data: "
    "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\",\"protocolVersion\":\"1.0\"}\n\n";

std::string encoded(const std::string& version, std::initializer_list<event::Event> events) {
  AgUiEncoder encoder({"t", "r", "", version});
  for (const event::Event& event : events) encoder.on_event(event);
  encoder.finish();
  const std::string body = encoder.take();
  EXPECT_TRUE(body.starts_with(run_started));
  return body.substr(run_started.size());
}

event::Event foreign(std::string_view type, std::string_view json) {
  return {event::Foreign{type, json}};
}

std::string finished(const std::string& members = {}) {
  return "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"" + members + "}\n\n";
}

std::string data_frame(const std::string& json) {
  return "data: " + json + "\n\n";
}

}  // namespace

TEST(AgUiEncoder, FramesARun) {
  EXPECT_EQ(
      encoded("1.0",
              {{event::TextStart{"m"}}, {event::TextDelta{"m", "a\nb"}}, {event::TextEnd{"m"}}}),
      data_frame(R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"})") +
          data_frame(R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\nb"})") +
          data_frame(R"({"type":"TEXT_MESSAGE_END","messageId":"m"})") + finished());
}

TEST(AgUiEncoder, EndsOnce) {
  EXPECT_EQ(
      encoded("1.0", {{event::Failed{"broken", "c"}, R"("metadata":{})"}, {event::TextStart{"m"}}}),
      data_frame(R"({"type":"RUN_ERROR","message":"broken","code":"c","metadata":{}})"));
}

TEST(AgUiEncoder, ClosesStepsBeforeAnError) {
  const std::string step = R"("stepName":"s"})";
  EXPECT_EQ(encoded("1.0", {foreign("STEP_STARTED", R"({"type":"STEP_STARTED",)" + step),
                            {event::Failed{"broken"}}}),
            data_frame(R"({"type":"STEP_STARTED",)" + step) +
                data_frame(R"({"type":"STEP_FINISHED",)" + step) +
                data_frame(R"({"type":"RUN_ERROR","message":"broken"})"));
}

TEST(AgUiEncoder, MergesUsageIntoTheTerminalEvent) {
  event::Usage usage;
  usage.input_tokens = 1;
  const std::string members = R"(,"usage":[{"inputTokens":1},{"inputTokens":1}])";
  EXPECT_EQ(encoded("1.0", {{usage}, {event::Usage{}}, {usage}}), finished(members));
  EXPECT_EQ(encoded("", {{usage}, {event::Failed{"m"}}}),
            data_frame(R"({"type":"RUN_ERROR","message":"m","usage":[{"inputTokens":1}]})"));
}

TEST(AgUiEncoder, NamesUnansweredCallsTo1_0Clients) {
  const std::initializer_list<event::Event> events{{event::ToolStart{"a", "f"}},
                                                   {event::ToolEnd{"a"}},
                                                   {event::ToolStart{"b", "f"}},
                                                   {event::ToolEnd{"b"}},
                                                   {event::ToolResult{"m", "a", "done"}}};
  EXPECT_TRUE(
      encoded("1.0", events)
          .ends_with(finished(R"(,"outcome":{"type":"success","pendingToolCallIds":["b"]})")));
  EXPECT_TRUE(encoded("", events).ends_with(finished()));
}

TEST(AgUiEncoder, ComparesVersionsAsNumbers) {
  const std::initializer_list<event::Event> events{{event::ToolStart{"a", "f"}}};
  for (const char* modern : {"1.0", "1.1", "1.10", "2.0", "10.0"}) {
    EXPECT_NE(encoded(modern, events).find("pendingToolCallIds"), std::string::npos) << modern;
  }
  for (const char* old : {"", "0.9", "0.59", "1", "1.", "x.y", "-1.0"}) {
    EXPECT_EQ(encoded(old, events).find("pendingToolCallIds"), std::string::npos) << old;
  }
}

TEST(AgUiEncoder, TakesTheOutcomeOfTheSource) {
  const auto with = [](std::string_view json) { return foreign("RUN_FINISHED", json); };
  EXPECT_EQ(
      encoded("1.0", {with(R"({"result":1,"outcome":{"type":"cancelled"},"metadata":{"a":1}})")}),
      finished(R"(,"result":1,"metadata":{"a":1},"outcome":{"type":"cancelled"})"));
  EXPECT_EQ(
      encoded("", {with(R"({"outcome":{"type":"cancelled"}})")}),
      data_frame(R"({"type":"RUN_ERROR","message":"The run was cancelled.","code":"cancelled"})"));
  EXPECT_EQ(encoded("", {with(R"({"outcome":{"type":"success"}})")}), finished());
  const std::string interrupts =
      R"({"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]})";
  EXPECT_EQ(encoded("", {with(R"({"outcome":)" + interrupts + "}")}),
            finished(R"(,"outcome":)" + interrupts));
}

TEST(AgUiEncoder, TakesTheLastOfSeveralRuns) {
  EXPECT_EQ(encoded("1.0", {foreign("RUN_STARTED", "{}"),
                            {event::ToolStart{"a", "f"}},
                            {event::ToolEnd{"a"}},
                            foreign("RUN_FINISHED", R"({"result":1})"),
                            foreign("RUN_STARTED", "{}"),
                            foreign("RUN_FINISHED", R"({"result":2})")}),
            data_frame(R"({"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"f"})") +
                data_frame(R"({"type":"TOOL_CALL_END","toolCallId":"a"})") +
                finished(R"(,"result":2)"));
}

TEST(AgUiEncoder, KeepsWhatOnly1_0KnowsFromOlderClients) {
  event::ToolResult result{"m", "c", "flat"};
  result.parts_json = R"([{"type":"text","text":"flat"}])";
  const event::MessagesSnapshot messages{
      R"([{"id":"1","role":"tool","toolCallId":"c","content":[{"type":"text","text":"a"}],"subagentRunId":"s"},)"
      R"({"id":"2","role":"user","content":[{"type":"text","text":"b"},{"type":"document","source":{"type":"file","value":"f"}}]}])"};
  const std::initializer_list<event::Event> events{
      {result, R"("subagentRunId":"s","timestamp":1)"},
      {messages},
      foreign("SUBAGENT_STARTED", R"({"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"})"),
      foreign("LATER", R"({"type":"LATER"})"),
      foreign("RAW", R"({"type":"RAW","event":1,"subagentRunId":"s"})")};
  EXPECT_EQ(
      encoded("", events),
      data_frame(
          R"({"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"flat","timestamp":1})") +
          data_frame(
              R"({"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"tool","toolCallId":"c","content":"a"},)"
              R"({"id":"2","role":"user","content":[{"type":"text","text":"b"}]}]})") +
          data_frame(R"({"type":"RAW","event":1})") + finished());
  const std::string modern = encoded("1.0", events);
  for (const char* kept :
       {R"("content":[{"type":"text","text":"flat"}])", R"("type":"file")",
        R"("type":"SUBAGENT_STARTED")", R"("type":"LATER")", R"("event":1,"subagentRunId":"s")"}) {
    EXPECT_NE(modern.find(kept), std::string::npos) << kept;
  }
}

TEST(AgUiEncoder, CountsEqualStepsForOlderClients) {
  const event::Event start = foreign("STEP_STARTED", R"({"type":"STEP_STARTED","stepName":"s"})");
  const event::Event sub_start =
      foreign("STEP_STARTED", R"({"type":"STEP_STARTED","stepName":"s","subagentRunId":"u"})");
  const event::Event end = foreign("STEP_FINISHED", R"({"type":"STEP_FINISHED","stepName":"s"})");
  EXPECT_EQ(encoded("", {start, sub_start, end}),
            data_frame(R"({"type":"STEP_STARTED","stepName":"s"})") +
                data_frame(R"({"type":"STEP_FINISHED","stepName":"s"})") + finished());
  EXPECT_EQ(encoded("1.0", {start, sub_start, end}),
            data_frame(R"({"type":"STEP_STARTED","stepName":"s"})") +
                data_frame(R"({"type":"STEP_STARTED","stepName":"s","subagentRunId":"u"})") +
                data_frame(R"({"type":"STEP_FINISHED","stepName":"s"})") +
                data_frame(R"({"type":"STEP_FINISHED","stepName":"s","subagentRunId":"u"})") +
                finished());
}

TEST(AgUiEncoder, TellsOlderClientsInTheResultThatAToolFailed) {
  event::ToolResult result{"m", "c", "why"};
  result.failed = true;
  result.error = "why";
  const std::string custom = data_frame(
      R"({"type":"CUSTOM","name":"millrace.tool_error","value":{"toolCallId":"c","error":"why"}})");
  EXPECT_EQ(
      encoded("", {{result}}),
      data_frame(
          R"({"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"why","isError":true,"error":"why"})") +
          custom + finished());
  EXPECT_EQ(encoded("1.0", {{result}}),
            data_frame(
                R"({"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"why"})") +
                custom + finished());
}

TEST(AgUiEncoder, IsAsItWasAfterItsBytesAreTaken) {
  AgUiEncoder encoder({"t", "r", "p", "1.0"});
  encoder.start();
  EXPECT_NE(encoder.take().find(R"("parentRunId":"p")"), std::string::npos);
  encoder.start();
  EXPECT_EQ(encoder.take(), "");
  encoder.finish();
  encoder.finish();
  EXPECT_EQ(encoder.take(), finished());
  EXPECT_TRUE(AgUiEncoder::keep_alive.starts_with(":") &&
              AgUiEncoder::keep_alive.ends_with("\n\n"));
}
