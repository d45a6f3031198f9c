// Which choices of a chat completion are the answer, where the number of answers is known.
#include <gtest/gtest.h>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

std::string decode_choices(adapter::Answers answers, std::string_view body) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.answers = answers;
  adapter::Decoder decoder(*adapter::find_wire("openai_chat"), options, ids, events);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  EXPECT_TRUE(decoder.is_complete());
  return events.text(true);
}

std::string text_message(const std::vector<std::string>& pieces) {
  std::string text =
      "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"id-1\",\"role\":\"assistant\"}\n";
  for (const std::string& piece : pieces) {
    text += R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"id-1","delta":")" + piece + "\"}\n";
  }
  return text + "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"id-1\"}\n";
}

std::string call_of(const std::string& id, const std::string& name, const std::string& arguments) {
  return R"({"type":"TOOL_CALL_START","toolCallId":")" + id + R"(","toolCallName":")" + name +
         "\",\"parentMessageId\":\"id-1\"}\n" + R"({"type":"TOOL_CALL_ARGS","toolCallId":")" + id +
         R"(","delta":")" + arguments + "\"}\n" + R"({"type":"TOOL_CALL_END","toolCallId":")" + id +
         "\"}\n";
}

std::string finish_of(const std::string& reason) {
  return R"({"type":"@finish","reason":")" + reason + "\"}\n";
}

std::string chunk(int index, const std::string& delta, const std::string& reason = "null") {
  return R"(data: {"choices":[{"index":)" + std::to_string(index) + R"(,"delta":)" + delta +
         R"(,"finish_reason":)" + reason + "}]}\n\n";
}

TEST(OpenAiChat, GivesACitationOnce) {
  const std::string one = R"({"type":"url_citation","url_citation":{"url":"https://a.example"}})";
  const std::string body = chunk(0, R"({"content":"a","annotations":[)" + one + ",null,\"x\"]}") +
                           chunk(0, R"({"annotations":[)" + one + "]}", R"("stop")") +
                           "data: [DONE]\n\n";
  const std::string events = decode_choices(adapter::Answers::one, body);
  const std::size_t first = events.find("a.example");
  EXPECT_NE(first, std::string::npos) << events;
  EXPECT_EQ(events.find("a.example", first + 1), std::string::npos) << events;
  EXPECT_EQ(events.find("null"), std::string::npos) << events;
}

// Source: HKUDS/nanobot, pull request 1555: the shape of GitHub Copilot's answers of Claude.
TEST(ChatChoice, ReadsTheBlocksOfTheOnlyAnswer) {
  constexpr std::string_view body = R"({"choices":[
    {"finish_reason":"tool_calls","message":{"role":"assistant","content":"I read."}},
    {"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[
      {"id":"a","type":"function","function":{"name":"read","arguments":"1"}}]}},
    {"finish_reason":"tool_calls","message":{"role":"assistant","content":"","tool_calls":[
      {"type":"function","function":{"name":"read","arguments":"2"}}]}}]})";
  EXPECT_EQ(decode_choices(adapter::Answers::one, body),
            text_message({"I read."}) + call_of("a", "read", "1") + call_of("id-2", "read", "2") +
                finish_of("tool_calls"));
  EXPECT_EQ(decode_choices(adapter::Answers::several, body),
            text_message({"I read."}) + finish_of("tool_calls"));
}

TEST(ChatChoice, TellsTheReasonThatSaysMore) {
  constexpr std::string_view body = R"({"choices":[
    {"index":0,"finish_reason":"stop","message":{"content":"I read."}},
    {"index":1,"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[
      {"id":"a","type":"function","function":{"name":"read","arguments":"1"}}]}},
    {"index":2,"message":{"content":null}}]})";
  EXPECT_EQ(decode_choices(adapter::Answers::one, body),
            text_message({"I read."}) + call_of("a", "read", "1") + finish_of("tool_calls"));
}

// Source: LobeHub, streams of OpenAI and Qwen in the tests of its model runtime (2026).
TEST(ChatChoice, ReadsEveryPieceOfTheOnlyAnswerHoweverItIsNumbered) {
  const std::string body = chunk(0, R"({"content":"Hello"})") +
                           chunk(1, R"({"content":" world"})") +
                           chunk(2, R"({"role":"assistant","content":"!"})") +
                           chunk(3, "{}", R"("stop")") + "data: [DONE]\n\n";
  EXPECT_EQ(decode_choices(adapter::Answers::one, body),
            text_message({"Hello", " world", "!"}) + finish_of("stop"));
}

// Whole answers side by side, whose calls are the answer's all the same.
TEST(ChatChoice, TakesATextBesideTheAnswersForAnother) {
  constexpr std::string_view body = R"({"choices":[
    {"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"One."}},
    {"index":1,"finish_reason":"tool_calls","message":{"role":"assistant","content":"Two.",
      "tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"1"}}]}}]})";
  EXPECT_EQ(decode_choices(adapter::Answers::one, body),
            text_message({"One."}) + call_of("a", "read", "1") + finish_of("tool_calls"));
}

TEST(ChatChoice, TakesTheTextOfALaterChoiceWhereTheFirstHasNone) {
  constexpr std::string_view body = R"({"choices":[
    {"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null}},
    {"index":1,"finish_reason":"stop","message":{"role":"assistant","content":"Two."}}]})";
  EXPECT_EQ(decode_choices(adapter::Answers::one, body),
            text_message({"Two."}) + finish_of("stop"));
}

TEST(ChatChoice, NeverMixesAlternativesOfAStream) {
  const std::string end = "data: [DONE]\n\n";
  const std::string one = chunk(0, R"({"content":"On"})");
  const std::string rest = chunk(0, R"({"content":"e."})") + chunk(0, "{}", R"("stop")");
  const std::string two = chunk(1, R"({"content":"Tw"})") + chunk(1, R"({"content":"o."})");
  const std::string two_ends = chunk(1, "{}", R"("stop")");
  for (const std::string& body : {
           one + chunk(1, R"({"content":"Tw"})") + chunk(0, R"({"content":"e."})") +
               chunk(1, R"({"content":"o."})") + chunk(0, "{}", R"("stop")") + two_ends + end,
           one + two + two_ends + rest + end,  // the other ends first
           one + rest + two + two_ends + end,  // one behind the other
           one + two + rest + two_ends + end,
       }) {
    const std::string events = decode_choices(adapter::Answers::one, body);
    EXPECT_EQ(events, text_message({"On", "e."}) + finish_of("stop")) << body;
  }
}

// The only answer under two numbers ends under the second.
TEST(ChatChoice, GivesWhatItHeldBackWhenNoOtherAnswerComes) {
  const std::string body = chunk(0, R"({"content":"One"})") + chunk(1, R"({"content":" more"})") +
                           chunk(1, "{}", R"("stop")");
  for (const std::string_view end : {"data: [DONE]\n\n", ""}) {
    EXPECT_EQ(decode_choices(adapter::Answers::one, body + std::string(end)),
              text_message({"One", " more"}) + finish_of("stop"));
  }
}

// Source: rig, its recording of two candidates of llama.cpp's server (2026).
TEST(ChatChoice, ReadsTheFirstOfSeveralAnswersThoughAnotherComesFirst) {
  const std::string body = chunk(1, R"({"role":"assistant","content":null})") +
                           chunk(0, R"({"role":"assistant","content":null})") +
                           chunk(1, R"({"content":"T"})") + chunk(0, R"({"content":"T"})") +
                           chunk(1, R"({"content":"ideve"})") + chunk(1, "{}", R"("stop")") +
                           chunk(0, R"({"content":"idehaven"})") + chunk(0, "{}", R"("stop")") +
                           "data: [DONE]\n\n";
  EXPECT_EQ(decode_choices(adapter::Answers::several, body),
            text_message({"T", "idehaven"}) + finish_of("stop"));
}

TEST(ChatChoice, ReadsIndexZeroWhereNobodyKnowsHowManyWereRequested) {
  const std::string end = "data: [DONE]\n\n";
  const std::string call = R"({"tool_calls":[{"id":"x","function":{"name":"f","arguments":"1"}}]})";
  const std::string one = chunk(0, R"({"role":"assistant","content":"A1"})");
  const std::string rest = chunk(0, R"({"content":"A2"})") + chunk(0, "{}", R"("stop")");
  for (const std::string& body : {
           chunk(1, R"({"role":"assistant"})") + chunk(0, R"({"role":"assistant"})") +
               chunk(1, R"({"content":"B1"})") + chunk(0, R"({"content":"A1"})") +
               chunk(1, "{}", R"("length")") + rest + end,
           one + chunk(1, call) + rest + end,
           one + chunk(1, "{}", R"("length")") + rest + end,
       }) {
    EXPECT_EQ(decode_choices(adapter::Answers::unknown, body),
              text_message({"A1", "A2"}) + finish_of("stop"))
        << body;
  }
}

// Source: openai/openai-agents-js, "filters multiple choices by default" (2026).
TEST(ChatChoice, ReadsIndexZeroThoughAnotherOneSpeaksBefore) {
  const std::string early = chunk(1, R"({"content":"ignored"})");
  const std::string both = R"(data: {"choices":[{"index":0,"delta":{"content":"kept"}},)"
                           R"({"index":1,"delta":{"content":"x"}}]})"
                           "\n\n";
  const std::string rest = chunk(0, "{}", R"("stop")") + "data: [DONE]\n\n";
  for (const adapter::Answers answers : {adapter::Answers::unknown, adapter::Answers::one}) {
    for (const std::string& body :
         {early + both + rest, early + early + chunk(2, R"({"role":"assistant","content":"y"})") +
                                   both + chunk(1, "{}", R"("length")") + rest}) {
      EXPECT_EQ(decode_choices(answers, body), text_message({"kept"}) + finish_of("stop")) << body;
    }
  }
}

TEST(ChatChoice, GivesWhatCameBeforeIndexZeroAsAnAlternative) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire("openai_chat"), options, ids, events);
  EXPECT_TRUE(decoder
                  .feed(chunk(1, R"({"role":"assistant","content":"B1"})") +
                        chunk(0, R"({"role":"assistant","content":"A"})") +
                        chunk(1, R"({"content":"B2"})") + chunk(0, "{}", R"("stop")"))
                  .ok());
  EXPECT_TRUE(decoder.finish().ok());
  const std::string text = events.text(true);
  EXPECT_NE(text.find(R"("delta":"A")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("index":1,"message":{"role":"assistant","content":"B1B2"})"),
            std::string::npos)
      << text;
}

// A server that numbers its only answer otherwise.
TEST(ChatChoice, ReadsTheOnlyAnswerUnderAnotherNumber) {
  std::string body;
  std::vector<std::string> pieces;
  for (int at = 0; at < 100; ++at) {
    pieces.push_back("w" + std::to_string(at));
    body += chunk(3, R"({"content":")" + pieces.back() + "\"}");
  }
  const std::string end = chunk(3, "{}", R"("stop")");
  const std::string other_end = chunk(0, "{}", R"("stop")");
  for (const std::string& tail : {end, other_end, end + "data: [DONE]\n\n"}) {
    const std::string few = chunk(3, R"({"content":"w0"})") + tail;
    for (const adapter::Answers answers : {adapter::Answers::unknown, adapter::Answers::one}) {
      EXPECT_EQ(decode_choices(answers, body + tail), text_message(pieces) + finish_of("stop"));
      EXPECT_EQ(decode_choices(answers, few), text_message({"w0"}) + finish_of("stop"));
    }
  }
}

TEST(ChatChoice, EndsWithTheReasonUnderAnotherNumberWhereItHasNone) {
  const std::string body = chunk(0, R"({"content":"One"})") + chunk(1, "{}", R"("stop")");
  for (const std::string_view end : {"data: [DONE]\n\n", ""}) {
    EXPECT_EQ(decode_choices(adapter::Answers::unknown, body + std::string(end)),
              text_message({"One"}) + finish_of("stop"));
  }
}

}  // namespace
TEST(ChatChoice, BoundsChoicesOfEverNewIndexes) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::Decoder decoder(*adapter::find_wire("openai_chat"), {}, ids, events);
  const auto feed = [&](int index) {
    EXPECT_TRUE(decoder.feed(chunk(index, R"({"role":"assistant","content":"x"})")).ok());
  };
  for (int index = 0; index < 1000; ++index) feed(index);
  EXPECT_FALSE(decoder.done());
  for (int index = 1000; index < 1100; ++index) feed(index);
  EXPECT_TRUE(decoder.done());
  EXPECT_NE(events.text(true).find("too_many_parts"), std::string::npos);
}

TEST(ChatChoice, BoundsTheChoicesOfOneRecord) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::Decoder decoder(*adapter::find_wire("openai_chat"), {}, ids, events);
  std::string record = R"(data: {"choices":[{"index":0,"delta":{"content":"x"}})";
  for (int index = 1; index < 2000; ++index) {
    record += R"(,{"index":)" + std::to_string(index) + R"(,"delta":{"content":"y"}})";
  }
  EXPECT_TRUE(decoder.feed(record + "]}\n\n").ok());
  EXPECT_NE(events.text(true).find("too_many_parts"), std::string::npos);
}

// Its words were held back until it was known whose they are.
TEST(ChatChoice, GivesWordsOfAnotherAnswerAsAnAlternative) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.answers = adapter::Answers::one;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire("openai_chat"), options, ids, events);
  const std::string body = chunk(0, R"({"content":"A"})") + chunk(1, R"({"content":"B"})") +
                           chunk(1, "{}", R"("length")") + chunk(0, "{}", R"("stop")");
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  const std::string text = events.text(true);
  EXPECT_EQ(text.find("RUN_ERROR"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("index":1,"message":{"content":"B"},"finishReason":"length"})"),
            std::string::npos)
      << text;
}

// Choices without numbers are those of their places, and that is named.
TEST(ChatChoice, ReadsChoicesWithoutNumbersByTheirPlaces) {
  for (const std::string_view wire : {"openai_chat", "gemini"}) {
    const bool is_chat = wire == "openai_chat";
    CountingIds ids("id-");
    test::Collector events;
    adapter::DecoderOptions options;
    options.answers = adapter::Answers::several;
    options.details = true;
    adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
    const auto piece = [&](const std::string& text) {
      return is_chat
                 ? R"({"delta":{"content":")" + text + R"("},"finish_reason":"stop"})"
                 : R"({"content":{"parts":[{"text":")" + text + R"("}]},"finishReason":"STOP"})";
    };
    const std::string list = is_chat ? "choices" : "candidates";
    const std::string body =
        "data: {\"" + list + "\":[" + piece("A") + "," + piece("B") + "," + piece("C") + "]}\n\n";
    EXPECT_TRUE(decoder.feed(body).ok());
    EXPECT_TRUE(decoder.finish().ok());
    const std::string text = events.text(true);
    EXPECT_NE(text.find(R"("delta":"A")"), std::string::npos) << text;
    for (const std::string_view other :
         {R"("index":1,"message":)", R"("index":2,"message":)", R"("B")", R"("C")"}) {
      EXPECT_NE(text.find(other), std::string::npos) << other << " is not in " << text;
    }
    const std::string name = is_chat ? "choice.index" : "candidate.index";
    EXPECT_NE(text.find("\"missingMembers\":[\"" + name + "\"]"), std::string::npos) << text;
  }
}

// The only choice of a record is the answer's.
TEST(ChatChoice, NamesNoNumberThatOneChoiceLacks) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire("openai_chat"), options, ids, events);
  EXPECT_TRUE(decoder
                  .feed("data: {\"choices\":[{\"delta\":{\"content\":\"A\"},"
                        "\"finish_reason\":\"stop\"}]}\n\n")
                  .ok());
  EXPECT_TRUE(decoder.finish().ok());
  EXPECT_EQ(events.text(true).find("missingMembers"), std::string::npos) << events.text(true);
}

}  // namespace millrace
