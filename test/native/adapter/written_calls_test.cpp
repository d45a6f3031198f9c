// Calls that Doubao's Seed models write into the text of a chat completion.
// Source: recorded answers in tests of lobehub/lobehub (2026).
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/answer_events.hpp"

namespace millrace {

using test::count_in;
using test::events_of;

namespace {

std::string piece(std::string_view content) {
  std::string record = R"({"id":"x","choices":[{"index":0,"delta":{)";
  json::append_member(record, "content", content);
  return record + "}}]}";
}

constexpr std::string_view stop =
    R"({"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";

constexpr std::string_view wire = "openai_chat_seed";

std::string events_of_text(std::string_view text, bool is_seed = true) {
  return events_of(is_seed ? wire : "openai_chat", {piece(text), stop, "[DONE]"});
}

constexpr std::string_view keys_call =
    R"(seed:tool_call<function name="lobe____inject"><parameter name="keys" string="false">["x"])"
    R"(</parameter><parameter name="path" string="true">7</parameter></function></seed:tool_call>)";
constexpr std::string_view keys_arguments = R"("delta":"{\"keys\":[\"x\"],\"path\":\"7\"}")";

}  // namespace

TEST(SeedCalls, AreCallsBetweenTexts) {
  const std::string events =
      events_of_text(std::string("prefix ").append(keys_call).append(" suffix"));
  EXPECT_EQ(count_in(events, R"("toolCallName":"lobe____inject")"), 1U) << events;
  EXPECT_EQ(count_in(events, keys_arguments), 1U) << events;
  EXPECT_EQ(count_in(events, R"("delta":"prefix ")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("delta":" suffix")"), 1U) << events;
  EXPECT_EQ(count_in(events, "seed:tool_call"), 0U) << events;
}

TEST(SeedCalls, MayBeCutAnywhere) {
  for (std::size_t cut = 1; cut < keys_call.size(); ++cut) {
    const std::string events = events_of(
        wire, {piece(keys_call.substr(0, cut)), piece(keys_call.substr(cut)), stop, "[DONE]"});
    ASSERT_EQ(count_in(events, keys_arguments), 1U) << cut << events;
    ASSERT_EQ(count_in(events, "TEXT_MESSAGE_CONTENT"), 0U) << cut << events;
  }
}

TEST(SeedCalls, MayBeSeveral) {
  const std::string events = events_of_text(
      std::string(keys_call).append("\n").append("<seed:tool_call>\n<function name=\"second\">"
                                                 "<parameter name=\"n\">5</parameter></function>"
                                                 "</seed:tool_call>"));
  EXPECT_EQ(count_in(events, "TOOL_CALL_START"), 2U) << events;
  EXPECT_EQ(count_in(events, R"("delta":"{\"n\":5}")"), 1U) << events;
}

TEST(SeedCalls, StandBesideThoseOfTheApi) {
  const std::string events = events_of(
      wire, {piece(keys_call),
             R"({"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c",)"
             R"("type":"function","function":{"name":"own","arguments":"{\"a\":1}"}}]}}]})",
             stop, "[DONE]"});
  EXPECT_EQ(count_in(events, R"("toolCallName":"own")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("delta":"{\"a\":1}")"), 1U) << events;
  EXPECT_EQ(count_in(events, keys_arguments), 1U) << events;
}

TEST(SeedCalls, AreTextWhereTheyAreNone) {
  for (const std::string_view text :
       {"seed:tool_call<function name=\"a\">", "seed:tool_call<function></seed:tool_call>",
        "seeds <s> seed:tool_call", "</seed:tool_call>"}) {
    const std::string events = events_of_text(text);
    EXPECT_EQ(count_in(events, "TOOL_CALL"), 0U) << events;
    EXPECT_EQ(count_in(events, "TEXT_MESSAGE_CONTENT"), count_in(events, "delta\"")) << events;
  }
  const std::string other = events_of_text(keys_call, false);
  EXPECT_EQ(count_in(other, "TOOL_CALL"), 0U) << other;
  EXPECT_EQ(count_in(other, "</seed:tool_call>"), 1U) << other;
}

}  // namespace millrace
