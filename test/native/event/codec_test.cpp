// The JSON spelling of every kind of event.

#include "event/codec.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"

using namespace millrace;

namespace {

std::string spelled(const event::Body& body, const event::Spelling& spelling = {},
                    std::string_view extra = {}, std::string_view subagent = {}) {
  std::string out;
  event::write_json(out, event::Event{body, extra, subagent}, spelling);
  json::Document document;
  EXPECT_TRUE(document.parse(out).ok()) << out;
  return out;
}

}  // namespace

TEST(EventCodec, SpellsPartsAsAgUiDoes) {
  EXPECT_EQ(spelled(event::TextStart{"m"}),
            R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"})");
  EXPECT_EQ(spelled(event::TextDelta{"m", "a\n\"b\""}),
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\n\"b\""})");
  EXPECT_EQ(spelled(event::ReasoningStart{"m"}),
            R"({"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"})");
  EXPECT_EQ(
      spelled(event::ToolStart{"c", "f", "m"}),
      R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})");
  EXPECT_EQ(spelled(event::StateSnapshot{"null"}), R"({"type":"STATE_SNAPSHOT","snapshot":null})");
  EXPECT_EQ(spelled(event::Failed{"sentence", "code"}),
            R"({"type":"RUN_ERROR","message":"sentence","code":"code"})");
}

TEST(EventCodec, LeavesOutWhatIsAbsent) {
  EXPECT_EQ(spelled(event::ToolStart{"c", "f"}),
            R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"})");
  EXPECT_EQ(spelled(event::Failed{"sentence"}), R"({"type":"RUN_ERROR","message":"sentence"})");
  EXPECT_EQ(spelled(event::ActivitySnapshot{"m", "plan", "{}", std::nullopt}),
            R"({"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"plan","content":{}})");
  EXPECT_EQ(
      spelled(event::ActivitySnapshot{"m", "plan", "{}", false}),
      R"({"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"plan","content":{},"replace":false})");
}

TEST(EventCodec, SpellsToolResultsForTheReader) {
  event::ToolResult result{"r", "c", "text"};
  result.parts_json = R"([{"type":"text","text":"text"}])";
  result.failed = true;
  result.error = "why";
  EXPECT_EQ(
      spelled(result),
      R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":[{"type":"text","text":"text"}]})");
  event::Spelling old;
  old.tool_result_parts = false;
  old.tool_error_members = true;
  EXPECT_EQ(
      spelled(result, old),
      R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"text","isError":true,"error":"why"})");
}

TEST(EventCodec, NamesWhatAgUiLacks) {
  EXPECT_EQ(
      spelled(event::Warning{"code", "sentence"}),
      R"({"type":"CUSTOM","name":"millrace.warning","value":{"code":"code","message":"sentence"}})");
  event::Spelling diagnostic;
  diagnostic.extras = event::Extras::diagnostic;
  EXPECT_EQ(spelled(event::Warning{"code", "sentence"}, diagnostic),
            R"({"type":"@warning","code":"code","message":"sentence"})");
  EXPECT_EQ(
      spelled(event::ProviderState{"p", "k", "", "{}"}),
      R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"provider":"p","kind":"k","state":{}}})");
}

TEST(EventCodec, SpellsEveryKindAsValidJson) {
  for (const event::Extras extras : {event::Extras::custom, event::Extras::diagnostic}) {
    event::Spelling spelling;
    spelling.extras = extras;
    for (const event::Body& body :
         std::initializer_list<event::Body>{event::TextEnd{"m"},
                                            event::ReasoningSpanStart{"m"},
                                            event::ReasoningSpanEnd{"m"},
                                            event::ReasoningDelta{"m", "d"},
                                            event::ReasoningEnd{"m"},
                                            event::EncryptedValue{"message", "m", "v"},
                                            event::ToolArgs{"c", "{"},
                                            event::ToolEnd{"c"},
                                            event::StateDelta{"[]"},
                                            event::MessagesSnapshot{"[]"},
                                            event::ActivityDelta{"m", "plan", "[]"},
                                            event::Usage{},
                                            event::Citation{"m", "{}"},
                                            event::Interrupt{"{}"},
                                            event::Reset{"retry"},
                                            event::Retry{1, 250, "c", "s"},
                                            event::Stage{"s", "{}"},
                                            event::Finish{"stop"},
                                            event::ToolProgress{"c", "1"},
                                            event::ToolDetails{"c", "{}", "[]", "[]", "\"a\":1"},
                                            event::StepStart{"s"},
                                            event::StepEnd{"s"},
                                            event::SubagentStart{"r", "n"},
                                            event::SubagentEnd{"r", "1"},
                                            event::SubagentFailed{"r", "m"},
                                            event::RunStart{"t", "r"},
                                            event::RunUsage{},
                                            event::RunEnd{"t", "r"}}) {
      spelled(body, spelling);
    }
  }
}

TEST(EventCodec, AddsFurtherMembersAtTheEnd) {
  EXPECT_EQ(spelled(event::TextEnd{"m"}, {}, R"("timestamp":1,"metadata":{})"),
            R"({"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":1,"metadata":{}})");
}

TEST(EventCodec, SpellsTheFrameOfARun) {
  EXPECT_EQ(
      spelled(event::RunStart{"t", "r", "p", "1.0"}, {}, R"("timestamp":1)"),
      R"({"type":"RUN_STARTED","timestamp":1,"threadId":"t","runId":"r","parentRunId":"p","protocolVersion":"1.0"})");
  EXPECT_EQ(spelled(event::StepStart{"s"}, {}, R"("timestamp":1)", "u"),
            R"({"type":"STEP_STARTED","stepName":"s","timestamp":1,"subagentRunId":"u"})");
  EXPECT_EQ(spelled(event::StepEnd{"s"}), R"({"type":"STEP_FINISHED","stepName":"s"})");
  EXPECT_EQ(
      spelled(event::SubagentStart{"u", "n", "d", "c", "m", "p"}),
      R"({"type":"SUBAGENT_STARTED","subagentRunId":"u","name":"n","description":"d","parentToolCallId":"c","parentMessageId":"m","parentSubagentRunId":"p"})");
  EXPECT_EQ(
      spelled(event::SubagentEnd{"u", "1", R"({"type":"success"})"}),
      R"({"type":"SUBAGENT_FINISHED","subagentRunId":"u","result":1,"outcome":{"type":"success"}})");
  EXPECT_EQ(spelled(event::SubagentFailed{"u", "m", "c"}),
            R"({"type":"SUBAGENT_ERROR","subagentRunId":"u","message":"m","code":"c"})");
  event::RunEnd end{"t", "r", event::RunOutcome::success, R"(["c"])"};
  end.result_json = R"({"reason":"completed"})";
  EXPECT_EQ(
      spelled(end),
      R"({"type":"RUN_FINISHED","threadId":"t","runId":"r","result":{"reason":"completed"},"outcome":{"type":"success","pendingToolCallIds":["c"]}})");
}

// They are for the users of a host: it takes no part in them.
TEST(EventCodec, WritesWhatToolsAndRunsReportAsCustomToEverybody) {
  event::Spelling diagnostic;
  diagnostic.extras = event::Extras::diagnostic;
  for (const event::Spelling& spelling : {event::Spelling{}, diagnostic}) {
    EXPECT_EQ(
        spelled(event::ToolProgress{"c", R"({"n":1})"}, spelling),
        R"({"type":"CUSTOM","name":"millrace.tool_progress","value":{"toolCallId":"c","progress":{"n":1}}})");
    event::ToolDetails details{"c", R"({"a":1})", "[1]", "[2]", R"("x":3)"};
    EXPECT_EQ(
        spelled(details, spelling),
        R"({"type":"CUSTOM","name":"millrace.tool_result","value":{"toolCallId":"c","state":{"a":1},"citations":[1],"attachments":[2],"x":3}})");
    EXPECT_EQ(
        spelled(event::RunUsage{"{}", {}, 2, std::nullopt}, spelling),
        R"({"type":"CUSTOM","name":"millrace.run_usage","value":{"usage":{},"cost":null,"steps":2,"turns":null}})");
  }
}

TEST(EventCodec, NamesTheSubagentOfAForeignEvent) {
  EXPECT_EQ(spelled(event::Foreign{"RAW", R"({"type":"RAW","event":1})"}, {}, {}, "u"),
            R"({"type":"RAW","event":1,"subagentRunId":"u"})");
}

TEST(EventCodec, PassesForeignEventsUnchanged) {
  EXPECT_EQ(spelled(event::Foreign{"X", R"({"type":"X","n":12345678901234567890})"}),
            R"({"type":"X","n":12345678901234567890})");
}

TEST(EventCodec, WritesLoneSurrogatesAsTheReaderWants) {
  const event::TextDelta delta{"m", "\xED\xA0\xBD"};
  EXPECT_EQ(spelled(delta),
            "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"\xEF\xBF\xBD\"}");
  event::Spelling keep;
  keep.surrogates = json::Surrogates::keep;
  EXPECT_EQ(spelled(delta, keep),
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d"})");
}

TEST(EventCodec, WritesOnlyTheTokensThatAreKnown) {
  event::Usage usage;
  usage.model = "m";
  usage.input_tokens = 0;
  usage.output_tokens = -1;
  std::string out;
  event::write_usage(out, usage);
  EXPECT_EQ(out, R"({"model":"m","inputTokens":0})");
}
