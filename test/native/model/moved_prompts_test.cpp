// System messages amid a conversation: an API that has them at its beginning changes their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "model/build.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view amid =
    R"([{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"system","content":"c"},)"
    R"({"role":"assistant","content":"d"},{"role":"developer","content":"e"},{"role":"system","content":" "},)"
    R"({"role":"user","content":"f"}])";
constexpr std::string_view before =
    R"([{"role":"system","content":"a"},{"role":"developer","content":"c"},{"role":"user","content":"b"}])";

std::string notes_of(std::string_view provider, std::string_view model, std::string_view messages) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  const std::string_view keys =
      provider == "bedrock" ? R"("apiKey":"","accessKeyId":"A","secretAccessKey":"s")" : "";
  const auto built = test::build(test::settings_of(provider, keys), payload + "}");
  if (!built) return built.error().message;
  std::string text;
  for (const Note& note : built.value().notes) text.append(note.sentence).append(" ");
  return text;
}

std::string body_of_claude(const std::string& model, std::string_view messages) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  return test::body_of(test::build(test::settings_of("anthropic"), payload + "}"));
}

// Source: https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
TEST(MovedPrompts, StayAtTheirPlacesForClaude) {
  constexpr std::string_view after_user =
      R"({"role":"user","content":[{"type":"text","text":"b"}]},{"role":"system","content":"c"},)"
      R"({"role":"assistant","content":[{"type":"text","text":"d"}]})";
  constexpr std::string_view reminder =
      R"({"type":"text","text":"<system-reminder>\ne\n</system-reminder>"})";
  for (const std::string model : {"claude-opus-4-8", "claude-sonnet-5-5", "claude-fable-5-1"}) {
    const std::string body = body_of_claude(model, amid);
    EXPECT_TRUE(test::has(body, R"("system":"a")")) << body;
    EXPECT_TRUE(test::has(body, after_user)) << body;
    EXPECT_TRUE(test::has(body, reminder)) << body;
    EXPECT_LT(body.find("system-reminder"), body.find(R"("text":"f")")) << body;
    EXPECT_TRUE(
        test::has(notes_of("anthropic", model, amid), "as reminders in turns of the user (1)"));
  }
  const std::string older = body_of_claude("claude-sonnet-4-5", amid);
  EXPECT_TRUE(test::has(older, R"("text":"<system-reminder>\nc\n</system-reminder>")")) << older;
  EXPECT_FALSE(test::has(older, R"("role":"system")")) << older;
  EXPECT_TRUE(test::has(older, R"("system":"a")")) << older;
}

// Behind the results of calls, wherever among them it stood; never between a call and its result.
TEST(MovedPrompts, StandBehindResultsForClaude) {
  for (const std::string_view order : {
           R"({"role":"tool","tool_call_id":"t","content":"R"},{"role":"system","content":"c"})",
           R"({"role":"system","content":"c"},{"role":"tool","tool_call_id":"t","content":"R"})",
       }) {
    const std::string body = body_of_claude(
        "claude-opus-5",
        R"([{"role":"user","content":"b"},{"role":"assistant","content":null,"tool_calls":[{"id":"t",)"
        R"("type":"function","function":{"name":"f","arguments":"{}"}}]},)" +
            std::string(order) + "]");
    EXPECT_TRUE(test::has(body, R"(]},{"role":"system","content":"c"}])")) << body;
    EXPECT_LT(body.find("tool_result"), body.find(R"("role":"system")")) << body;
  }
}

TEST(MovedPrompts, AreNoted) {
  constexpr std::string_view sentence = "before all others: 2 went there.";
  for (const auto& [provider, model] :
       {std::pair{"minimaxcodingplan", "MiniMax-M2.7"}, std::pair{"google", "gemini-2.5-flash"},
        std::pair{"google", "gemma-3-27b-it"},
        std::pair{"bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"}}) {
    const std::string notes = notes_of(provider, model, amid);
    EXPECT_TRUE(test::has(notes, sentence)) << model << ": " << notes;
    EXPECT_EQ(notes_of(provider, model, before), "") << model;
  }
  EXPECT_EQ(notes_of("openai", "gpt-4o", amid), "");
}

}  // namespace
}  // namespace millrace::model
