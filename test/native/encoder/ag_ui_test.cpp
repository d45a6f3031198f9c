// What the encoder writes to clients of 1.0 and to older ones.

#include "encoder/ag_ui.hpp"

#include <gtest/gtest.h>

#include <array>

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

TEST(AgUiEncoder, TellsHowAnIncompleteAnswerGoesOn) {
  const auto ended = [](std::string_view reason, bool incomplete, std::string_view members = {}) {
    return event::Event{event::Finish{reason, incomplete, members}};
  };
  const std::string paused =
      R"(,"metadata":{"millrace":{"incomplete":{"reason":"CONTINUATION","continue":{"a":"b"}}}})";
  EXPECT_EQ(encoded("1.0", {ended("CONTINUATION", true, R"({"a":"b"})")}), finished(paused));
  // The last end counts.
  EXPECT_EQ(encoded("1.0", {ended("pause_turn", true), ended("end_turn", false)}), finished());
  event::Usage guessed;
  guessed.input_tokens = 1;
  guessed.estimated = true;
  EXPECT_EQ(encoded("1.0", {ended("queued", true), {guessed}}),
            finished(R"(,"metadata":{"millrace":{"usageSource":"estimated",)"
                     R"("incomplete":{"reason":"queued"}}},"usage":[{"inputTokens":1}])"));
}

// How a sub-agent's answer ended says nothing of the run's.
TEST(AgUiEncoder, GivesTheFinishReasonOfItsOwnAnswersAlone) {
  const event::Event cut{event::Finish{"length", true}, {}, "child"};
  EXPECT_EQ(encoded("1.0", {{event::Finish{"end_turn"}}, cut}), finished());
  EXPECT_EQ(encoded("1.0", {{event::Finish{"stop_sequence"}}, cut}),
            finished(R"(,"metadata":{"millrace":{"finishReason":"stop_sequence"}})"));
}

TEST(AgUiEncoder, NamesAnUnusualReasonAndWhatTheUsageHasBesideItsCounts) {
  event::Usage plain;
  plain.input_tokens = 1;
  plain.json = R"({"prompt_tokens":1,"details":{"audio":0}})";
  event::Usage rich = plain;
  rich.json = R"({"prompt_tokens":1,"service_tier":"flex"})";
  const std::string counts = R"("usage":[{"inputTokens":1}])";
  const std::string marks = R"(,"metadata":{"millrace":{"finishReason":"stop_sequence",)"
                            R"("reportedUsage":[{"prompt_tokens":1,"service_tier":"flex"}]}},)";
  for (const char* version : {"", "1.0"}) {
    EXPECT_EQ(encoded(version, {{plain}, {event::Finish{"end_turn"}}}), finished("," + counts));
    EXPECT_EQ(encoded(version, {{rich}, {event::Finish{"stop_sequence"}}}),
              finished(marks + counts));
    EXPECT_EQ(
        encoded(version, {{event::Finish{"length"}}, {event::Failed{"long"}}}),
        data_frame(
            R"({"type":"RUN_ERROR","message":"long","metadata":{"millrace":{"finishReason":"length"}}})"));
  }
}

TEST(AgUiEncoder, KeepsWhatTheOperatorPaysFromClients) {
  event::Usage paid;
  paid.input_tokens = 1;
  paid.json = R"({"prompt_tokens":1,"cost":0.5,"cost_details":{"upstream_inference_cost":0.4},)"
              R"("cost_in_usd_ticks":7,"tier":"flex","list":[{"upstream_cost":3,"n":2}]})";
  event::Usage plain = paid;
  plain.json = R"({"prompt_tokens":1,"cost":0.5,"cost_details":{"upstream_inference_cost":0.4}})";
  const std::string counts = R"(,"usage":[{"inputTokens":1}])";
  for (const char* version : {"", "1.0"}) {
    EXPECT_EQ(encoded(version, {{plain}}), finished(counts));
    EXPECT_EQ(encoded(version, {{paid}}),
              finished(R"(,"metadata":{"millrace":{"reportedUsage":[)"
                       R"({"prompt_tokens":1,"tier":"flex","list":[{"n":2}]}]}})" +
                       counts));
  }
}

TEST(AgUiEncoder, LeavesOutWhatIsForTheHostAlone) {
  EXPECT_EQ(encoded("1.0", {{event::AnswerInfo{R"({"id":"a"})"}},
                            {event::Alternative{1, R"({"message":{}})"}},
                            {event::Logprobs{"m", "[1]"}},
                            {event::PartialImage{"c", R"({"size":"s"})"}}}),
            data_frame(R"({"type":"CUSTOM","name":"millrace.logprobs",)"
                       R"("value":{"messageId":"m","logprobs":[1]}})") +
                data_frame(R"({"type":"CUSTOM","name":"millrace.partial_image",)"
                           R"("value":{"toolCallId":"c","image":{"size":"s"}}})") +
                finished());
}

TEST(AgUiEncoder, EndsOnce) {
  EXPECT_EQ(
      encoded("1.0", {{event::Failed{"broken", "c"}, R"("metadata":{})"}, {event::TextStart{"m"}}}),
      data_frame(R"({"type":"RUN_ERROR","message":"broken","code":"c","metadata":{}})"));
}

TEST(AgUiEncoder, ClosesStepsBeforeAnError) {
  const std::string step = R"("stepName":"s"})";
  EXPECT_EQ(encoded("1.0", {{event::StepStart{"s"}}, {event::Failed{"broken"}}}),
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
  using event::RunOutcome;
  event::RunEnd cancelled{"x", "y", RunOutcome::cancelled};
  EXPECT_EQ(
      encoded("", {{cancelled}}),
      data_frame(R"({"type":"RUN_ERROR","message":"The run was cancelled.","code":"cancelled"})"));
  cancelled.result_json = "1";
  cancelled.metadata_json = R"({"a":1})";
  EXPECT_EQ(encoded("1.0", {{cancelled}}),
            finished(R"(,"result":1,"metadata":{"a":1},"outcome":{"type":"cancelled"})"));
  event::RunEnd done{"x", "y", RunOutcome::success};
  EXPECT_EQ(encoded("", {{done}}), finished());
  EXPECT_EQ(encoded("1.0", {{done}}), finished(R"(,"outcome":{"type":"success"})"));
  done.calls_json = R"(["c"])";
  EXPECT_EQ(encoded("1.0", {{done}}),
            finished(R"(,"outcome":{"type":"success","pendingToolCallIds":["c"]})"));
  event::RunEnd requests{"x", "y", RunOutcome::interrupt};
  requests.interrupts_json = R"([{"id":"i","reason":"confirmation"}])";
  for (const char* version : {"", "1.0"}) {
    EXPECT_EQ(
        encoded(version, {{requests}}),
        finished(
            R"(,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]})"));
  }
}

TEST(AgUiEncoder, TakesTheLastOfSeveralRuns) {
  event::RunEnd first{"x", "y"};
  first.result_json = "1";
  event::RunEnd last{"x", "y"};
  last.result_json = "2";
  EXPECT_EQ(encoded("1.0", {{event::RunStart{"x", "y"}},
                            {event::ToolStart{"a", "f"}},
                            {event::ToolEnd{"a"}},
                            {first},
                            {event::RunStart{"x", "z"}},
                            {last}}),
            data_frame(R"({"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"f"})") +
                data_frame(R"({"type":"TOOL_CALL_END","toolCallId":"a"})") +
                finished(R"(,"result":2)"));
}

TEST(AgUiEncoder, MarksAnEstimateInTheMetadata) {
  event::Usage usage;
  usage.input_tokens = 1;
  usage.estimated = true;
  const std::string tokens = R"(,"usage":[{"inputTokens":1}])";
  EXPECT_EQ(encoded("1.0", {{usage}}),
            finished(R"(,"metadata":{"millrace":{"usageSource":"estimated"}})" + tokens));
  event::RunEnd end{"x", "y"};
  end.metadata_json = R"({"a":1})";
  EXPECT_EQ(encoded("1.0", {{usage}, {end}}),
            finished(R"(,"metadata":{"a":1,"millrace":{"usageSource":"estimated"}})" + tokens));
}

TEST(AgUiEncoder, AsksTheQuestionsOfAnInterrupt) {
  const std::array<event::Question, 3> questions{
      {{"", "why", R"("why")"}, {"q", "", R"({"a":1})"}, {"q", "again", "1"}}};
  event::Interrupt interrupt{"null", "langgraph:interrupt", questions};
  EXPECT_EQ(
      encoded("1.0", {{interrupt}}),
      finished(
          R"(,"outcome":{"type":"interrupt","interrupts":[)"
          R"({"id":"r-interrupt-1","reason":"langgraph:interrupt","message":"why","metadata":{"value":"why"}},)"
          R"({"id":"q","reason":"langgraph:interrupt","metadata":{"value":{"a":1}}},)"
          R"({"id":"r-interrupt-3","reason":"langgraph:interrupt","message":"again","metadata":{"value":1,"id":"q"}}]})"));
}

TEST(AgUiEncoder, KeepsWhatOnly1_0KnowsFromOlderClients) {
  event::ToolResult result{"m", "c", "flat"};
  result.parts_json = R"([{"type":"text","text":"flat"}])";
  const event::MessagesSnapshot messages{
      R"([{"id":"1","role":"tool","toolCallId":"c","content":[{"type":"text","text":"a"}],"subagentRunId":"s"},)"
      R"({"id":"2","role":"user","content":[{"type":"text","text":"b"},{"type":"document","source":{"type":"file","value":"f"}}]}])"};
  const std::initializer_list<event::Event> events{
      {result, R"("timestamp":1)", "s"},
      {event::SubagentStart{"s", "n"}},
      {event::SubagentEnd{"s"}},
      {event::SubagentFailed{"s", "why"}},
      {messages},
      foreign("LATER", R"({"type":"LATER"})"),
      {event::Foreign{"RAW", R"({"type":"RAW","event":1})"}, {}, "s"}};
  EXPECT_EQ(
      encoded("", events),
      data_frame(
          R"({"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"flat","timestamp":1,)"
          R"("millrace":{"subagentRunId":"s"}})") +
          data_frame(
              R"({"type":"CUSTOM","name":"millrace.subagent","value":{"type":"SUBAGENT_STARTED",)"
              R"("subagentRunId":"s","name":"n"}})") +
          data_frame(
              R"({"type":"CUSTOM","name":"millrace.subagent","value":{"type":"SUBAGENT_FINISHED",)"
              R"("subagentRunId":"s"}})") +
          data_frame(
              R"({"type":"CUSTOM","name":"millrace.subagent","value":{"type":"SUBAGENT_ERROR",)"
              R"("subagentRunId":"s","message":"why"}})") +
          data_frame(
              R"({"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"tool","toolCallId":"c","content":"a"},)"
              R"({"id":"2","role":"user","content":[{"type":"text","text":"b"}]}]})") +
          data_frame(R"({"type":"RAW","event":1})") + finished());
  const std::string modern = encoded("1.0", events);
  for (const char* retained :
       {R"("content":[{"type":"text","text":"flat"}])", R"("type":"file")",
        R"("type":"SUBAGENT_STARTED")", R"("type":"LATER")", R"("event":1,"subagentRunId":"s")"}) {
    EXPECT_NE(modern.find(retained), std::string::npos) << retained;
  }
}

TEST(AgUiEncoder, CountsEqualStepsForOlderClients) {
  const event::Event start{event::StepStart{"s"}};
  const event::Event sub_start{event::StepStart{"s"}, {}, "u"};
  const event::Event end{event::StepEnd{"s"}};
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

// The end of a message waits for its state, and nothing that follows comes before it.
TEST(AgUiEncoder, KeepsTheEndOfASpanBehindTheEndsBeforeIt) {
  const std::string body = encoded("1.0", {{event::ReasoningSpanStart{"span"}},
                                           {event::ReasoningStart{"r1"}},
                                           {event::ReasoningDelta{"r1", "Hm."}},
                                           {event::ReasoningEnd{"r1"}},
                                           {event::ReasoningSpanEnd{"span"}, R"("metadata":{})"}});
  const std::size_t message = body.find("REASONING_MESSAGE_END");
  const std::size_t span = body.find(R"("type":"REASONING_END")");
  ASSERT_NE(message, std::string::npos);
  ASSERT_NE(span, std::string::npos);
  EXPECT_LT(message, span);
}
