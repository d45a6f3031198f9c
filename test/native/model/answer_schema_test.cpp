// The schema of an answer goes in the prompt where the API would reject it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "model/build.hpp"
#include "model/schema/schema_limits.hpp"

namespace millrace::model {
namespace {

// An object of `count` members, of which as many are required.
std::string object_of(int count, int required, std::string_view type) {
  std::string properties;
  std::string names;
  for (int at = 0; at < count; ++at) {
    const std::string name = "\"m" + std::to_string(at) + '"';
    properties.append(at > 0 ? "," : "").append(name).append(R"(:{"type":)").append(type) += '}';
    if (at < required) names.append(at > 0 ? "," : "").append(name);
  }
  return R"({"type":"object","properties":{)" + properties + R"(},"required":[)" + names +
         R"(],"additionalProperties":false})";
}

std::string format_of(const std::string& schema) {
  return R"("response_format":{"type":"json_schema","json_schema":{"name":"a","schema":)" + schema +
         "}}";
}

constexpr std::string_view tool =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
constexpr std::string_view text = R"("string")";
constexpr std::string_view nullable = R"(["string","null"])";

TEST(SchemaLimits, CountUnionsAndOptionalMembersAtEveryDepth) {
  EXPECT_TRUE(is_within_limits(object_of(16, 16, nullable)));
  EXPECT_FALSE(is_within_limits(object_of(17, 17, nullable)));
  EXPECT_TRUE(is_within_limits(object_of(30, 6, text)));
  EXPECT_FALSE(is_within_limits(object_of(31, 6, text)));
  const std::string inner = object_of(25, 0, text);
  EXPECT_FALSE(is_within_limits(R"({"type":"array","items":)" + inner + "}"));
  EXPECT_FALSE(is_within_limits(R"({"$defs":{"x":)" + inner + "}}"));
  EXPECT_FALSE(is_within_limits(R"({"anyOf":[{"type":"null"},)" + inner + "]}"));
  // Names of members and values are no schemas.
  EXPECT_TRUE(is_within_limits(R"({"const":)" + inner + R"(,"properties":{"anyOf":{}}})"));
}

TEST(AnswerSchema, BeyondTheLimitsGoesInThePrompt) {
  const auto sent = [](std::string_view provider, const std::string& schema) {
    const std::string more = "," + format_of(schema);
    if (provider == "bedrock") {
      return test::converse("anthropic.claude-sonnet-4-5-20250929-v1:0",
                            R"([{"role":"user","content":"Hi"}])", more.substr(1));
    }
    return test::build(test::settings_of(provider),
                       test::question("claude-sonnet-4-5", more.substr(1)));
  };
  for (const std::string_view provider : {"bedrock", "anthropic"}) {
    for (const std::string& schema : {object_of(17, 17, nullable), object_of(25, 0, text)}) {
      const auto built = sent(provider, schema);
      const std::string body = test::body_of(built);
      EXPECT_TRUE(test::has(body, "Answer with one JSON value")) << body;
      EXPECT_FALSE(test::has(body, R"("json_schema")")) << body;
      ASSERT_TRUE(built);
      ASSERT_EQ(built.value().notes.size(), 1U);
      EXPECT_TRUE(test::has(built.value().notes[0].sentence, "16 unions or 24 optional members"));
    }
    const std::string within = test::body_of(sent(provider, object_of(16, 16, nullable)));
    EXPECT_TRUE(test::has(within, R"("json_schema")")) << within;
  }
}

TEST(AnswerSchema, GoesInThePromptWhereToolsAreInItsPlace) {
  const std::string more = std::string(tool) + "," + format_of(object_of(1, 1, text));
  for (const auto& [provider, model] :
       {std::pair{"groq", "openai/gpt-oss-120b"}, std::pair{"google", "gemini-2.5-flash"}}) {
    const auto built = test::build(test::settings_of(provider), test::question(model, more));
    const std::string body = test::body_of(built);
    EXPECT_TRUE(test::has(body, "When you call none: Answer with one JSON value")) << body;
    EXPECT_FALSE(test::has(body, R"("response_format":{)")) << body;
    EXPECT_FALSE(test::has(body, "responseJsonSchema")) << body;
    ASSERT_TRUE(built);
    ASSERT_EQ(built.value().notes.size(), 1U);
    EXPECT_TRUE(test::has(built.value().notes[0].sentence, "the prompt asks for it"));
  }
  const std::string later = test::body_of(
      test::build(test::settings_of("google"), test::question("gemini-3-flash-preview", more)));
  EXPECT_TRUE(test::has(later, "responseJsonSchema")) << later;
}

}  // namespace
}  // namespace millrace::model
