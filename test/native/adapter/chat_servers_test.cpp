// What servers of chat completions send in ways of their own: errors, ends, and parts of the
// answer.
#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "support/answer_events.hpp"
#include "support/cost.hpp"

namespace millrace {

using test::count_in;
using test::events_of;

namespace {

std::string server_chunk(const std::string& delta, const std::string& reason = "null") {
  return R"({"id":"x","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + reason +
         "}]}";
}

std::string server_events(std::initializer_list<std::string_view> records) {
  return events_of("openai_chat", records);
}

std::string decode_whole(const std::string& record) {
  const std::string body = "data: " + record + "\n\ndata: [DONE]\n\n";
  return test::decode_in_steps("openai_chat", body, body.size());
}

}  // namespace

// A search among all sources for each of another list would cost the square of them.
TEST(ChatServers, ManySourcesCostWorkThatGrowsWithThem) {
  constexpr std::size_t few_sources = 2'500;
  for (const bool are_known : {true, false}) {
    const auto decodes = [&](std::size_t count) {
      std::string results;
      std::string citations;
      for (std::size_t at = 0; at < count; ++at) {
        const std::string url = "\"https://example.com/" + std::to_string(at);
        results.append(at == 0 ? "" : ",").append(R"({"url":)").append(url).append("\"}");
        citations.append(at == 0 ? "" : ",").append(url);
        citations.append(are_known || at + 1 < count ? "\"" : "/other\"");
      }
      const std::string text =
          decode_whole(R"({"choices":[{"index":0,"delta":{"content":"A"}}],"search_results":[)" +
                       results + R"(],"citations":[)" + citations + "]}");
      EXPECT_EQ(count_in(text, R"("citations":[)"), are_known ? 0U : 1U);
    };
    EXPECT_LE(test::growth_of(decodes, few_sources), test::most_growth);
  }
}

// Source: groq/groq-python, chat_completion_chunk.py (2026-11): a string; an object elsewhere.
TEST(ChatServers, GroqNamesWhatStoppedAStream) {
  const std::string text =
      server_events({server_chunk(R"({"content":"A"})"),
                     R"({"choices":[],"x_groq":{"error":"over capacity"}})", "[DONE]"});
  EXPECT_EQ(count_in(text, R"("message":"over capacity")"), 1U) << text;
  const std::string object = server_events(
      {server_chunk(R"({"content":"A"})"),
       R"({"x_groq":{"error":{"message":"broke","type":"internal_server_error"}}})", "[DONE]"});
  EXPECT_EQ(count_in(object, R"("message":"broke")"), 1U) << object;
  const std::string good =
      server_events({server_chunk(R"({"content":"A"})", R"("stop")"),
                     R"({"choices":[],"x_groq":{"id":"r","error":null}})", "[DONE]"});
  EXPECT_EQ(count_in(good, "RUN_ERROR"), 0U) << good;
}

// Source: vllm-project/vllm and JamePeng/llama-cpp-python (2026): the server stopped the answer.
TEST(ChatServers, AnAbortedAnswerIsNotWhole) {
  const std::string stream = server_events(
      {server_chunk(R"({"content":"A"})"), server_chunk("{}", R"("abort")"), "[DONE]"});
  EXPECT_EQ(count_in(stream, "failed before the answer was complete"), 1U) << stream;
}

// The letters of a reason to finish may be capital.
TEST(ChatServers, ACutAnswerIsOneInCapitalLettersToo) {
  const std::string cut =
      server_events({server_chunk(R"({"content":"A"})", R"("LENGTH")"), "[DONE]"});
  EXPECT_EQ(count_in(cut, "reached the maximum output length"), 1U) << cut;
  const std::string whole =
      server_events({server_chunk(R"({"content":"A"})", R"("STOP")"), "[DONE]"});
  EXPECT_EQ(count_in(whole, "RUN_ERROR"), 0U) << whole;
}

// Pieces that say nothing may follow the reason to finish.
TEST(ChatServers, APieceOfNoCallBehindTheEndMakesNone) {
  const std::string end = R"("stop")";
  const std::string empty = R"({"tool_calls":[{"index":0,"id":"","function":{"name":""}}]})";
  const std::string text = server_events(
      {server_chunk(
           R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]})",
           end),
       server_chunk(empty, R"("")"), "[DONE]"});
  EXPECT_EQ(count_in(text, "TOOL_CALL_START"), 1U) << text;
  EXPECT_EQ(count_in(text, R"("toolCallName":"")"), 0U) << text;
}

// Source: Databricks' chat completions of Claude (2026).
TEST(ChatServers, ReasoningMayBeAPartOfTheContent) {
  const std::string text = server_events(
      {server_chunk(
           R"({"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"I "}]}]})"),
       server_chunk(R"({"content":[{"type":"reasoning","text":"think"}]})"),
       server_chunk(
           R"({"content":[{"type":"reasoning","summary":[{"text":"","signature":"S"}]}]})"),
       server_chunk(R"({"content":"Yes"})"), server_chunk("{}", R"("stop")"), "[DONE]"});
  EXPECT_EQ(count_in(text, "REASONING_MESSAGE_START"), 1U) << text;
  EXPECT_EQ(count_in(text, R"("delta":"I ")"), 1U) << text;
  EXPECT_EQ(count_in(text, R"("delta":"think")"), 1U) << text;
  EXPECT_EQ(count_in(text, R"("signature":"S")"), 1U) << text;
  EXPECT_EQ(count_in(text, R"("delta":"Yes")"), 1U) << text;
}

// The mark of the end without a reason to finish ends an answer of sound alone as any other.
TEST(ChatServers, AudioAloneEndsWithTheMark) {
  const std::string piece = R"({"audio":{"data":"QUJD"}})";
  const std::string whole = server_events({server_chunk(piece), server_chunk(piece), "[DONE]"});
  EXPECT_EQ(count_in(whole, "RUN_ERROR"), 0U) << whole;
  EXPECT_EQ(count_in(whole, R"("data":"QUJD")"), 2U) << whole;
  const std::string cut = server_events({server_chunk(piece)});
  EXPECT_EQ(count_in(cut, "stream_truncated"), 1U) << cut;
}

}  // namespace millrace
