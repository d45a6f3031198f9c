// What ends a part, an item or an answer and has more, or something else, than the pieces before.
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

std::string decode(std::string_view wire, const std::string& body, std::size_t step) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
  for (std::size_t at = 0; at < body.size(); at += step) {
    EXPECT_TRUE(decoder.feed(std::string_view(body).substr(at, step)).ok());
  }
  EXPECT_TRUE(decoder.finish().ok());
  return events.text(true);
}

// Whole, byte by byte and in pieces of a random size.
std::string events_of(std::string_view wire, std::initializer_list<std::string_view> records) {
  std::string body;
  for (const std::string_view record : records) {
    body.append(wire == "ollama" ? "" : "data: ").append(record).append("\n\n");
  }
  const std::string whole = decode(wire, body, body.size());
  const unsigned seed = std::random_device{}();
  EXPECT_EQ(decode(wire, body, 1), whole);
  EXPECT_EQ(decode(wire, body, 2 + seed % 97), whole) << "seed " << seed;
  return whole;
}

std::size_t count_in(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

#define RESPONSE_CREATED R"({"type":"response.created","response":{"id":"r"}})"
#define TEXT_ADDED                                            \
  R"({"type":"response.output_item.added","output_index":0,)" \
  R"("item":{"type":"message","id":"m","role":"assistant","content":[]}})"
#define TEXT_DELTA                                                          \
  R"({"type":"response.output_text.delta","item_id":"m","output_index":0,)" \
  R"("content_index":0,"delta":"Hel"})"
#define CALL_ADDED                                                    \
  R"({"type":"response.output_item.added","output_index":0,"item":{)" \
  R"("type":"function_call","id":"f","call_id":"c","name":"look","arguments":""}})"
#define CALL_DELTA                                                                      \
  R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,)" \
  R"("delta":"{\"a\""})"
#define RESPONSE_COMPLETED R"({"type":"response.completed","response":{"id":"r","output":[]}})"

constexpr std::string_view other_text = "The end of a part has another text than its pieces";
constexpr std::string_view other_arguments = "The end of a call has other arguments";

std::string text_done(std::string_view text) {
  return std::string(R"({"type":"response.output_text.done","item_id":"m","output_index":0,)")
      .append(R"("content_index":0,"text":")")
      .append(text)
      .append("\"}");
}

std::string message_item(std::string_view text) {
  return std::string(R"({"type":"message","id":"m","role":"assistant","content":[)")
      .append(R"({"type":"output_text","text":")")
      .append(text)
      .append("\"}]}");
}

std::string call_item(std::string_view arguments) {
  return std::string(R"({"type":"function_call","id":"f","call_id":"c","name":"look",)")
      .append(R"("arguments":")")
      .append(arguments)
      .append("\"}");
}

std::string item_done(const std::string& item) {
  return R"({"type":"response.output_item.done","output_index":0,"item":)" + item + "}";
}

std::string completed(const std::string& item) {
  return R"({"type":"response.completed","response":{"id":"r","output":[)" + item + "]}}";
}

}  // namespace

TEST(EndsOfResponses, AddTheRestOfAText) {
  const std::string part =
      R"({"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,)"
      R"("part":{"type":"output_text","text":"Hello"}})";
  for (const std::string& end : {text_done("Hello"), part, item_done(message_item("Hello")),
                                 completed(message_item("Hello"))}) {
    const std::string events = events_of(
        "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, end, RESPONSE_COMPLETED});
    EXPECT_EQ(count_in(events, R"("delta":"lo")"), 1U) << events;
    EXPECT_EQ(count_in(events, "TEXT_MESSAGE_START"), 1U) << events;
    EXPECT_EQ(count_in(events, other_text), 0U) << events;
  }
}

TEST(EndsOfResponses, NameAnotherText) {
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, text_done("Hola"),
                           item_done(message_item("Hola")), completed(message_item("Hola"))});
  EXPECT_EQ(count_in(events, other_text), 1U) << events;
  EXPECT_EQ(count_in(events, R"("whole":"Hola")"), 1U) << events;
  const std::string late = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, item_done(message_item("Hel")),
                           completed(message_item("Hello"))});
  EXPECT_EQ(count_in(late, other_text), 1U) << late;
  EXPECT_EQ(count_in(late, "TEXT_MESSAGE_START"), 1U) << late;
}

// Each end that differs is named; the one of the item goes back.
TEST(EndsOfResponses, NameEachOtherText) {
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, text_done("Hola"),
                           item_done(message_item("Hi")), completed(message_item("Hello"))});
  EXPECT_EQ(count_in(events, other_text), 3U) << events;
  EXPECT_EQ(count_in(events, R"("whole":"Hi")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("delta":"lo")"), 0U) << events;
}

// A pair of surrogates that two pieces split, in one at the end.
TEST(EndsOfResponses, KnowSplitCharacters) {
  const auto delta = [](std::string_view text) {
    return std::string(R"({"type":"response.output_text.delta","item_id":"m","output_index":0,)")
        .append(R"("content_index":0,"delta":")")
        .append(text)
        .append("\"}");
  };
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, delta("\\ud83d"), delta("\\ude00"),
                           text_done("\\ud83d\\ude00!"), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("delta":"!")"), 1U) << events;
  EXPECT_EQ(count_in(events, other_text), 0U) << events;
}

TEST(EndsOfResponses, AddTheRestOfReasoning) {
  const std::string events = events_of(
      "openai_responses",
      {RESPONSE_CREATED,
       R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t","summary":[]}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,)"
       R"("summary_index":0,"delta":"thi"})",
       R"({"type":"response.reasoning_summary_text.done","item_id":"t","output_index":0,)"
       R"("summary_index":0,"text":"think"})",
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t","summary":[{"type":"summary_text","text":"thinker"}]}})",
       RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("delta":"nk")"), 1U) << events;
  const std::string part = events_of(
      "openai_responses",
      {RESPONSE_CREATED,
       R"({"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,)"
       R"("summary_index":0,"delta":"thi"})",
       R"({"type":"response.reasoning_summary_part.done","item_id":"t","output_index":0,)"
       R"("summary_index":0,"part":{"type":"summary_text","text":"think"}})",
       RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(part, R"("delta":"nk")"), 1U) << part;
  EXPECT_EQ(count_in(events, other_text), 1U) << events;
  EXPECT_EQ(count_in(events, "REASONING_MESSAGE_START"), 1U) << events;
}

TEST(EndsOfResponses, AddTheRestOfArguments) {
  const std::string done =
      R"({"type":"response.function_call_arguments.done","item_id":"f","output_index":0,)"
      R"("arguments":"{\"a\":1}"})";
  for (const std::string& end :
       {done, item_done(call_item("{\\\"a\\\":1}")), completed(call_item("{\\\"a\\\":1}"))}) {
    const std::string events = events_of(
        "openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA, end, RESPONSE_COMPLETED});
    EXPECT_EQ(count_in(events, R"("delta":":1}")"), 1U) << events;
    EXPECT_EQ(count_in(events, other_arguments), 0U) << events;
    EXPECT_EQ(count_in(events, "RUN_ERROR"), 0U) << events;
  }
}

TEST(EndsOfResponses, NameOtherArguments) {
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA,
                                     item_done(call_item("{\\\"b\\\":2}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, other_arguments), 1U) << events;
  EXPECT_EQ(count_in(events, R"("arguments":"{\"b\":2}"})"), 1U) << events;
  const std::string again = events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA,
                                                           item_done(call_item("{\\\"b\\\":2}")),
                                                           completed(call_item("{\\\"c\\\":3}"))});
  EXPECT_EQ(count_in(again, other_arguments), 2U) << again;
  // Spaces between tokens are none.
  const std::string spaced = events_of(
      "openai_responses",
      {RESPONSE_CREATED, CALL_ADDED,
       R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,)"
       R"("delta":"{\"a\": 1}"})",
       item_done(call_item("{\\\"a\\\":1}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(spaced, other_arguments), 0U) << spaced;
}

// What was shown runs, so that it goes back beside its result.
TEST(EndsOfResponses, LeaveArgumentsThatCanRun) {
  const std::string delta =
      R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,)"
      R"("delta":"{\"a\":1}"})";
  const std::string done =
      R"({"type":"response.function_call_arguments.done","item_id":"f","output_index":0,)"
      R"("arguments":"{\"b\":2}"})";
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, delta, done,
                                     item_done(call_item("{\\\"b\\\":2}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, other_arguments), 1U) << events;
  EXPECT_EQ(count_in(events, R"("whole":)"), 0U) << events;
}

TEST(EndsOfResponses, TakeArgumentsOfTheItemBehindAnEmptyEnd) {
  const std::string events = events_of(
      "openai_responses",
      {RESPONSE_CREATED, CALL_ADDED,
       R"({"type":"response.function_call_arguments.done","item_id":"f","output_index":0,)"
       R"("arguments":""})",
       item_done(call_item("{\\\"a\\\":1}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("delta":"{\"a\":1}")"), 1U) << events;
}

TEST(EndsOfResponses, ShowItemsOfTheResponseAlone) {
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, item_done(message_item("Hel")),
                           completed(message_item("Hel") + "," + call_item("{}"))});
  EXPECT_EQ(count_in(events, "TOOL_CALL_START"), 1U) << events;
  EXPECT_EQ(count_in(events, "TEXT_MESSAGE_START"), 1U) << events;
}

TEST(EndsOfResponses, NameArgumentsOfNoOpenCall) {
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_DELTA, CALL_DELTA, RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, "Arguments of a call that was not open"), 1U) << events;
  const std::string late = events_of(
      "openai_responses", {RESPONSE_CREATED, CALL_ADDED, item_done(call_item("{\\\"a\\\":1}")),
                           CALL_DELTA, RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(late, "Arguments of a call that was not open"), 1U) << late;
}

TEST(EndsOfResponses, CutACallThatNeverEnded) {
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA, RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("code":"stream_truncated")"), 1U) << events;
}

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
