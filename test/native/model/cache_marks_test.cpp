// The caller's own marks of what is to be cached.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/build.hpp"

namespace millrace {
namespace {

constexpr std::string_view marked =
    R"("messages":[{"role":"system","content":[{"type":"text","text":"S"},)"
    R"({"type":"text","text":"T","cache_control":{"type":"ephemeral","ttl":"1h"}}]},)"
    R"({"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},)"
    R"({"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}},)"
    R"({"type":"text","text":"b"}]}])";

std::string marked_body(std::string_view provider, std::string_view more = "") {
  std::string payload = R"({"model":"claude-sonnet-4-5",)";
  payload.append(marked).append(more).append("}");
  return test::body_of(test::build(test::settings_of(provider), payload));
}

void expect_part(const std::string& body, std::string_view part) {
  EXPECT_NE(body.find(part), std::string::npos) << body;
}

std::size_t marks_in(const std::string& body) {
  std::size_t count = 0;
  for (std::size_t at = body.find("cache_control"); at != std::string::npos;
       at = body.find("cache_control", at + 1)) {
    ++count;
  }
  return count;
}

TEST(CacheMarks, GoToClaude) {
  for (const std::string_view more : {"", R"(,"enabledContextCaching":true)"}) {
    const std::string body = marked_body("anthropic", more);
    expect_part(body,
                R"({"type":"text","text":"ST","cache_control":{"type":"ephemeral","ttl":"1h"}})");
    expect_part(body, R"({"type":"text","text":"a","cache_control":{"type":"ephemeral"}})");
    EXPECT_EQ(marks_in(body), 2U) << body;
  }
}

TEST(CacheMarks, GoToProvidersThatReadThemInChats) {
  for (const std::string_view provider : {"openrouter", "qwen"}) {
    for (const std::string_view more : {"", R"(,"enabledContextCaching":true)"}) {
      const std::string body = marked_body(provider, more);
      expect_part(body, R"("role":"system","content":[{"type":"text","text":"ST","cache_control":)"
                        R"({"type":"ephemeral","ttl":"1h"}}])");
      expect_part(body, R"({"type":"text","text":"a","cache_control":{"type":"ephemeral"}},)");
      expect_part(body, R"("detail":"low")");
      EXPECT_EQ(marks_in(body), 2U) << body;
    }
  }
}

// Inside a system message, of results, of answers, of calls and of tools; a message may carry its
// own mark.
constexpr std::string_view marked_everywhere =
    R"("messages":[{"role":"system","content":[{"type":"text","text":"S",)"
    R"("cache_control":{"type":"ephemeral"}},{"type":"text","text":"T"}]},)"
    R"({"role":"user","content":"a"},)"
    R"({"role":"assistant","content":"Look.","tool_calls":[{"id":"c","type":"function",)"
    R"("cache_control":{"type":"ephemeral"},"function":{"name":"f","arguments":"{}"}}]},)"
    R"({"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r",)"
    R"("cache_control":{"type":"ephemeral"}}]},)"
    R"({"role":"assistant","content":[{"type":"text","text":"A",)"
    R"("cache_control":{"type":"ephemeral"}},{"type":"text","text":"B"}]},)"
    R"({"role":"user","content":"b"},)"
    R"({"role":"assistant","tool_calls":[{"id":"d","type":"function",)"
    R"("function":{"name":"f","arguments":"{}"}}],"cache_control":{"type":"ephemeral","ttl":"1h"}},)"
    R"({"role":"tool","tool_call_id":"d","content":"s","cache_control":{"type":"ephemeral"}}],)"
    R"("tools":[{"type":"function","cache_control":{"type":"ephemeral"},)"
    R"("function":{"name":"f","parameters":{"type":"object"}}},)"
    R"({"name":"g","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}])";

TEST(CacheMarks, GoToClaudeFromWhereverTheyStand) {
  const std::string payload =
      R"({"model":"claude-sonnet-4-5",)" + std::string(marked_everywhere) + "}";
  const auto built = test::build(test::settings_of("anthropic"), payload);
  const std::string body = test::body_of(built);
  ASSERT_TRUE(built.ok()) << body;
  constexpr std::string_view mark = R"("cache_control":{"type":"ephemeral"}})";
  const auto expect_marked = [&](std::string part) { expect_part(body, part.append(mark)); };
  expect_marked(R"("system":[{"type":"text","text":"S",)");
  expect_part(body, R"({"type":"text","text":"T"}])");
  expect_marked(R"({"type":"tool_use","id":"c","name":"f","input":{},)");
  expect_marked(R"({"type":"tool_result","tool_use_id":"c","content":"r",)");
  expect_marked(R"({"type":"text","text":"A",)");
  expect_part(body, R"({"type":"text","text":"B"})");
  expect_part(body,
              R"("id":"d","name":"f","input":{},"cache_control":{"type":"ephemeral","ttl":"1h"}})");
  expect_marked(R"({"type":"tool_result","tool_use_id":"d","content":"s",)");
  expect_marked(R"({"name":"f","input_schema":{"type":"object"},)");
  expect_marked(R"({"name":"g","input_schema":{"type":"object"},)");
  EXPECT_EQ(marks_in(body), 8U) << body;
}

TEST(CacheMarks, GoToPartsOfMessagesInChats) {
  const std::string payload = R"({"model":"m",)" + std::string(marked_everywhere) + "}";
  const auto built = test::build(test::settings_of("openrouter"), payload);
  const std::string body = test::body_of(built);
  ASSERT_TRUE(built.ok()) << body;
  constexpr std::string_view mark = R"("cache_control":{"type":"ephemeral"}})";
  const auto expect_marked = [&](std::string part) { expect_part(body, part.append(mark)); };
  expect_marked(R"("role":"system","content":[{"type":"text","text":"S",)");
  expect_marked(R"("role":"tool","content":[{"type":"text","text":"r",)");
  expect_marked(R"("role":"assistant","content":[{"type":"text","text":"A",)");
  expect_marked(R"("role":"tool","content":[{"type":"text","text":"s",)");
  EXPECT_EQ(marks_in(body), 4U) << body;
  const auto& notes = built.value().notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& note) {
    return note.what == "tools.cache_control";
  })) << "marks of tools are lost without a word";
}

TEST(CacheMarks, GoToBedrockAsPoints) {
  const auto sent = [](std::string_view model) {
    const std::string payload =
        R"({"model":")" + std::string(model) + R"(",)" + std::string(marked_everywhere) + "}";
    return test::build(test::settings_of("bedrock", R"("apiKey":"","accessKeyId":"A",)"
                                                    R"("secretAccessKey":"s")"),
                       payload);
  };
  const std::string body = test::body_of(sent("anthropic.claude-3-5-sonnet-20240620-v1:0"));
  const std::string point = R"({"cachePoint":{"type":"default"}})";
  expect_part(body, R"("system":[{"text":"S"},)" + point + R"(,{"text":"T"}])");
  expect_part(body, R"({"text":"A"},)" + point + R"(,{"text":"B"})");
  expect_part(body, R"({"cachePoint":{"type":"default","ttl":"1h"}})");
  std::size_t points = 0;
  for (std::size_t at = body.find("cachePoint"); at != body.npos;
       at = body.find("cachePoint", at + 1))
    ++points;
  EXPECT_EQ(points, 8U) << body;
  const auto other = sent("meta.llama3-1-70b-instruct-v1:0");
  EXPECT_FALSE(test::has(test::body_of(other), "cachePoint")) << test::body_of(other);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(std::any_of(other.value().notes.begin(), other.value().notes.end(),
                          [](const auto& note) { return note.what == "cache_control"; }));
}

TEST(CacheMarks, AreLeftOutElsewhereAndThatIsSaid) {
  for (const std::string_view provider : {"togetherai", "google"}) {
    std::string payload = R"({"model":"m",)";
    payload.append(marked).append("}");
    const auto built = test::build(test::settings_of(provider), payload);
    const std::string body = test::body_of(built);
    ASSERT_TRUE(built.ok()) << body;
    EXPECT_EQ(marks_in(body), 0U) << body;
    const auto& notes = built.value().notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& note) {
      return note.what == "cache_control";
    })) << provider;
  }
}

}  // namespace
}  // namespace millrace
