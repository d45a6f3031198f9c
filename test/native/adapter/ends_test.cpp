// What ends a part or an answer and has more, or something else, than the pieces before.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "support/answer_events.hpp"
#include "support/collect.hpp"

namespace millrace {

using test::count_in;
using test::events_of;

namespace {

std::string chunk(const std::string& delta, const std::string& reason = "null", int index = 0) {
  return R"({"id":"x","choices":[{"index":)" + std::to_string(index) + R"(,"delta":)" + delta +
         R"(,"finish_reason":)" + reason + "}]}";
}

std::string call_piece(const std::string& members) {
  return chunk(R"({"tool_calls":[{"index":0,)" + members + "}]}");
}

}  // namespace

TEST(ChatNames, MayComeInPieces) {
  const std::string pieces =
      events_of("openai_chat", {call_piece(R"("id":"a","function":{"name":"get_"})"),
                                call_piece(R"("function":{"name":"weather","arguments":"{}"})"),
                                chunk("{}", R"("tool_calls")"), "[DONE]"});
  EXPECT_EQ(count_in(pieces, R"("toolCallName":"get_weather")"), 1U) << pieces;
  const std::string again =
      events_of("openai_chat", {call_piece(R"("id":"a","function":{"name":"look","arguments":""})"),
                                call_piece(R"("function":{"name":"look","arguments":"{"})"),
                                call_piece(R"("function":{"name":"look","arguments":"}"})"),
                                chunk("{}", R"("tool_calls")"), "[DONE]"});
  EXPECT_EQ(count_in(again, R"("toolCallName":"look")"), 1U) << again;
  EXPECT_EQ(count_in(again, "@warning"), 0U) << again;
  const std::string grown =
      events_of("openai_chat", {call_piece(R"("id":"a","function":{"name":"get_"})"),
                                call_piece(R"("function":{"name":"get_weather"})"),
                                chunk("{}", R"("tool_calls")"), "[DONE]"});
  EXPECT_EQ(count_in(grown, R"("toolCallName":"get_weather")"), 1U) << grown;
  const std::string late =
      events_of("openai_chat", {call_piece(R"("id":"a","function":{"name":"f","arguments":"{"})"),
                                call_piece(R"("function":{"name":"other","arguments":"}"})"),
                                chunk("{}", R"("tool_calls")"), "[DONE]"});
  EXPECT_EQ(count_in(late, R"("toolCallName":"f")"), 1U) << late;
  EXPECT_EQ(count_in(late, "A name behind the arguments"), 1U) << late;
}

TEST(ChatNames, OfSeveralCallsMayComeInTurn) {
  const auto piece = [](int index, std::string_view members) {
    return chunk(R"({"tool_calls":[{"index":)" + std::to_string(index) + "," +
                 std::string(members) + "}]}");
  };
  const std::string events = events_of(
      "openai_chat",
      {piece(0, R"("id":"a","function":{"name":"get_"})"),
       piece(1, R"("id":"b","function":{"name":"read_"})"),
       piece(2, R"("id":"c","function":{"name":"stop"})"),
       piece(0, R"("function":{"name":"weather"})"), piece(1, R"("function":{"name":"mail"})"),
       piece(1, R"("function":{"arguments":"{}"})"), piece(0, R"("function":{"arguments":"{}"})"),
       chunk("{}", R"("tool_calls")"), "[DONE]"});
  const std::size_t first = events.find(R"("toolCallName":"get_weather")");
  const std::size_t second = events.find(R"("toolCallName":"read_mail")");
  const std::size_t third = events.find(R"("toolCallName":"stop")");
  EXPECT_LT(first, second) << events;
  EXPECT_LT(second, third) << events;
  EXPECT_NE(third, std::string::npos) << events;
  EXPECT_EQ(count_in(events, "@warning"), 0U) << events;
}

// What cannot be shown beside other words of the same meaning is named.
TEST(ChatWords, ThatStandBesideOthersAreNamed) {
  const auto named = [](std::string_view name) {
    return R"("skippedMembers":[")" + std::string(name) + "\"]";
  };
  const std::string end = chunk("{}", R"("stop")");
  const std::string both = events_of(
      "openai_chat",
      {R"({"id":"x","choices":[{"index":0,"delta":{"content":"A"},"message":{"content":"B"}}]})",
       end, "[DONE]"});
  EXPECT_EQ(count_in(both, named("choice.message")), 1U) << both;
  const std::string repeated = events_of(
      "openai_chat",
      {chunk(R"({"content":"A"})"),
       R"({"id":"x","choices":[{"index":0,"delta":{"content":"B"},"message":{"content":"AB"}}]})",
       end, "[DONE]"});
  EXPECT_EQ(count_in(repeated, "skippedMembers"), 0U) << repeated;
  const std::string unreported = events_of(
      "openai_chat",
      {R"({"id":"x","choices":[{"index":0,"delta":{"role":"assistant"},"message":{"content":"B"}}]})",
       end, "[DONE]"});
  EXPECT_EQ(count_in(unreported, named("choice.message")), 1U) << unreported;
  const std::string reasoning =
      events_of("openai_chat", {chunk(R"({"reasoning":"R","reasoning_content":"R"})"),
                                chunk(R"({"content":"A"})"), end, "[DONE]"});
  EXPECT_EQ(count_in(reasoning, "skippedMembers"), 0U) << reasoning;
  const std::string other =
      events_of("openai_chat", {chunk(R"({"reasoning":"T","reasoning_content":"S"})"),
                                chunk(R"({"content":"A"})"), end, "[DONE]"});
  EXPECT_EQ(count_in(other, named("delta.reasoning")), 1U) << other;
  const std::string behind = events_of(
      "openai_chat", {chunk(R"({"content":"A"})"), end, "[DONE]", chunk(R"({"content":"B"})")});
  EXPECT_EQ(count_in(behind, named("a record behind [DONE]")), 1U) << behind;
}

TEST(ChatReasons, ThatComeTwiceCountByTheLast) {
  const std::string length =
      events_of("openai_chat", {chunk(R"({"content":"A"})"), chunk("{}", R"("length")"),
                                chunk("{}", R"("stop")"), "[DONE]"});
  EXPECT_EQ(count_in(length, "RUN_ERROR"), 0U) << length;
  EXPECT_EQ(count_in(length, "two reasons to finish"), 1U) << length;
  const std::string same = events_of(
      "openai_chat",
      {chunk(R"({"content":"A"})"), chunk("{}", R"("stop")"), chunk("{}", R"("stop")"), "[DONE]"});
  EXPECT_EQ(count_in(same, "two reasons to finish"), 0U) << same;
}

#define CLAUDE_START                                                 \
  R"({"type":"message_start","message":{"id":"m","type":"message",)" \
  R"("role":"assistant","content":[],"model":"c"}})"
#define CLAUDE_CALL                                              \
  R"({"type":"content_block_start","index":0,"content_block":{)" \
  R"("type":"tool_use","id":"t","name":"look","input":{}}})"
#define CLAUDE_INPUT                                     \
  R"({"type":"content_block_delta","index":0,"delta":{)" \
  R"("type":"input_json_delta","partial_json":"{\"a\""}})"
#define CLAUDE_END \
  R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})", R"({"type":"message_stop"})"

TEST(ClaudesCalls, AreCutWithoutAnEnd) {
  const std::string events =
      events_of("anthropic", {CLAUDE_START, CLAUDE_CALL, CLAUDE_INPUT, CLAUDE_END});
  EXPECT_EQ(count_in(events, R"("code":"stream_truncated")"), 1U) << events;
}

TEST(ClaudesCalls, HaveIdsOfTheirOwn) {
  const std::string second =
      R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t",)"
      R"("name":"read","input":{"b":2},"caller":{"type":"direct"}}})";
  const std::string events = events_of(
      "anthropic", {CLAUDE_START, CLAUDE_CALL, R"({"type":"content_block_stop","index":0})", second,
                    R"({"type":"content_block_stop","index":1})", CLAUDE_END});
  EXPECT_EQ(count_in(events, "Two calls have one id"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("toolCallId":"id-1","toolCallName":"read")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("kind":"caller","entityId":"id-1")"), 1U) << events;
}

TEST(ClaudesCalls, WithoutANameAreLeftOut) {
  const std::string start =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t",)"
      R"("input":{}}})";
  const std::string events =
      events_of("anthropic", {CLAUDE_START, start, CLAUDE_INPUT,
                              R"({"type":"content_block_stop","index":0})", CLAUDE_END});
  EXPECT_EQ(count_in(events, "TOOL_CALL"), 0U) << events;
  EXPECT_EQ(count_in(events, "@warning"), 1U) << events;
  EXPECT_EQ(count_in(events, "it has no name"), 1U) << events;
}

TEST(ClaudesCalls, NameTheInputThatTheirDeltasReplace) {
  const std::string start =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t",)"
      R"("name":"look","input":{"pre":1}}})";
  const std::string delta =
      R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",)"
      R"("partial_json":"{\"d\": 2}"}})";
  const std::string stop = R"({"type":"content_block_stop","index":0})";
  const std::string events = events_of("anthropic", {CLAUDE_START, start, delta, stop, CLAUDE_END});
  EXPECT_EQ(count_in(events, "another input than its deltas"), 1U) << events;
}

TEST(ClaudesBlocks, NamePiecesOfAnotherKind) {
  const std::string text =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"A"}})";
  const std::string signature =
      R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta",)"
      R"("signature":"S"}})";
  const std::string events =
      events_of("anthropic", {CLAUDE_START, text, CLAUDE_INPUT, signature, CLAUDE_END});
  EXPECT_EQ(count_in(events, "Input for a block that is no call"), 1U) << events;
  EXPECT_EQ(count_in(events, "A signature for a block that is no thinking"), 1U) << events;
}

TEST(ClaudesReasons, ThatComeTwiceCountByTheLast) {
  const std::string events =
      events_of("anthropic",
                {CLAUDE_START, R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"}})",
                 R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})",
                 R"({"type":"message_stop"})"});
  EXPECT_EQ(count_in(events, "two reasons to stop"), 1U) << events;
  EXPECT_EQ(count_in(events, "RUN_ERROR"), 0U) << events;
}

TEST(GeminisParts, ShowEachContentThatTheyHave) {
  const std::string events = events_of(
      "gemini",
      {R"({"candidates":[{"content":{"parts":[{"text":"A","functionCall":{"name":"f","id":"c",)"
       R"("args":{"a":1}},"thoughtSignature":"UQ==","zz":1}]},"finishReason":"STOP"}]})"});
  EXPECT_EQ(count_in(events, R"("delta":"A")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("toolCallName":"f")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("subtype":"tool-call","entityId":"c")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("state":{"zz":1})"), 1U) << events;
}

TEST(GeminisCandidates, WithoutNumbersAreToldApart) {
  const std::string events = events_of(
      "gemini", {R"({"candidates":[{"content":{"parts":[{"text":"A"}]},"finishReason":"STOP"},)"
                 R"({"content":{"parts":[{"text":"B"}]},"finishReason":"STOP"}]})"});
  EXPECT_EQ(count_in(events, R"("delta":"B")"), 0U) << events;
  EXPECT_EQ(count_in(events, R"("index":1)"), 1U) << events;
}

// Pieces of calls whose start or whose end did not come, on the other wires.
TEST(OtherWires, CutCallsWithoutAnEnd) {
  const std::string cohere = events_of(
      "cohere",
      {R"({"type":"message-start","id":"c","delta":{"message":{"role":"assistant"}}})",
       R"({"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"t",)"
       R"("type":"function","function":{"name":"look","arguments":"{\"a\""}}}}})",
       R"({"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}})"});
  EXPECT_EQ(count_in(cohere, R"("code":"stream_truncated")"), 1U) << cohere;
  const std::string interactions = events_of(
      "gemini_interactions",
      {R"({"event_type":"interaction.start","interaction":{"id":"i","status":"in_progress"}})",
       R"({"event_type":"step.start","index":0,"step":{"type":"function_call","id":"t",)"
       R"("name":"look"}})",
       R"({"event_type":"step.delta","index":0,"delta":{"type":"arguments_delta",)"
       R"("arguments":"{\"a\""}})",
       R"({"event_type":"interaction.complete","interaction":{"id":"i","status":"completed"}})"});
  EXPECT_EQ(count_in(interactions, R"("code":"stream_truncated")"), 1U) << interactions;
  const std::string gemini = events_of(
      "gemini", {R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","id":"c",)"
                 R"("willContinue":true,"partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}]},)"
                 R"("finishReason":"STOP"}]})"});
  EXPECT_EQ(count_in(gemini, R"("code":"stream_truncated")"), 1U) << gemini;
}

TEST(OtherWires, NamePiecesOfCallsThatNeverBegan) {
  const std::string cohere = events_of(
      "cohere",
      {R"({"type":"message-start","id":"c","delta":{"message":{"role":"assistant"}}})",
       R"({"type":"tool-call-delta","index":9,"delta":{"message":{"tool_calls":{"function":{)"
       R"("arguments":"{}"}}}}})",
       R"({"type":"message-end","delta":{"finish_reason":"COMPLETE"}})"});
  EXPECT_EQ(count_in(cohere, "A piece of a call that is not open"), 1U) << cohere;
  const std::string interactions = events_of(
      "gemini_interactions",
      {R"({"event_type":"step.delta","index":0,"delta":{"type":"arguments_delta",)"
       R"("arguments":"{}"}})",
       R"({"event_type":"interaction.complete","interaction":{"id":"i","status":"completed"}})"});
  EXPECT_EQ(count_in(interactions, "Arguments of a step that is no call"), 1U) << interactions;
}

TEST(CoheresTexts, KeepTheirSizes) {
  const auto piece = [](std::string_view type, int index, std::string_view text) {
    return R"({"type":"content-)" + std::string(type) + R"(","index":)" + std::to_string(index) +
           R"(,"delta":{"message":{"content":{"type":"text","text":")" + std::string(text) +
           "\"}}}}";
  };
  const std::string events = events_of(
      "cohere", {R"({"type":"message-start","id":"c","delta":{"message":{"role":"assistant"}}})",
                 piece("start", 0, ""), piece("delta", 0, "on"), piece("delta", 0, "e"),
                 piece("start", 1, ""), piece("delta", 1, "four"),
                 R"({"type":"message-end","delta":{"finish_reason":"COMPLETE"}})"});
  EXPECT_EQ(count_in(events, R"("kind":"list","entityId":"c","state":[3,4])"), 1U) << events;
}

TEST(LangGraphsMessages, NameATextThatChanges) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::Decoder decoder(*adapter::find_wire("langgraph"), {}, ids, events);
  const auto message = [](std::string_view text) {
    return R"([{"type":"ai","id":"m","content":")" + std::string(text) + "\"}]\n\n";
  };
  EXPECT_TRUE(decoder.feed("event: messages/partial\ndata: " + message("Hello")).ok());
  EXPECT_TRUE(decoder.feed("event: messages/partial\ndata: " + message("Hola")).ok());
  EXPECT_TRUE(decoder.feed("event: messages/complete\ndata: " + message("Hel")).ok());
  EXPECT_TRUE(decoder.finish().ok());
  const std::string text = events.text(true);
  EXPECT_EQ(count_in(text, "A message came again with another text"), 1U) << text;
}

}  // namespace millrace
