// What one vendor refuses in a schema is sent in words that it takes: the schemas that the tests of
// AI SDK's openai, moonshotai and google packages expect (2026-11).
#include "model/schema/fitted_schema.hpp"

#include <gtest/gtest.h>

#include "model/build.hpp"

namespace millrace {
namespace {

model::SchemaRules moonshot() {
  model::SchemaRules rules;
  rules.prefix_items = true;
  rules.type_in_branches = true;
  return rules;
}

std::string fitted(std::string_view schema, const model::SchemaRules& rules) {
  return model::fitted_schema(schema, rules).json;
}

TEST(FittedSchema, NamesTheItemsOfATupleByTheirPlace) {
  EXPECT_EQ(fitted(R"({"type":"array","items":[{"type":"number"},{"type":"string"}],"minItems":2})",
                   moonshot()),
            R"({"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"minItems":2})");
  EXPECT_EQ(
      fitted(R"({"prefixItems":[{"type":"string"}],"items":[{"type":"number"}]})", moonshot()),
      R"({"prefixItems":[{"type":"string"},{"type":"number"}]})");
  EXPECT_EQ(fitted(R"({"anyOf":[{"type":"array","items":[true]},{"type":"string"}]})", moonshot()),
            R"({"anyOf":[{"type":"array","prefixItems":[true]},{"type":"string"}]})");
  constexpr std::string_view list = R"({"type":"array","items":{"type":"number"},"maxItems":2})";
  EXPECT_EQ(fitted(list, moonshot()), list);
}

TEST(FittedSchema, SaysTheTypeInTheBranches) {
  EXPECT_EQ(
      fitted(R"({"properties":{"a":{"type":"object","anyOf":[{"required":["x"]},{"type":"null"},)"
             R"({"$ref":"#/$defs/x"}]}}})",
             moonshot()),
      R"({"properties":{"a":{"anyOf":[{"type":"object","required":["x"]},{"type":"null"},)"
      R"({"$ref":"#/$defs/x"}]}}})");
  constexpr std::string_view one_of = R"({"type":"object","oneOf":[{"required":["x"]}]})";
  EXPECT_EQ(fitted(one_of, moonshot()), one_of);
}

TEST(FittedSchema, LeavesOutPatternsThatLookAround) {
  model::SchemaRules rules;
  rules.no_lookaround = true;
  const model::FittedSchema schema = model::fitted_schema(
      R"({"properties":{"pattern":{"type":"string","format":"email","pattern":"^(?!\\.)a$"},)"
      R"("zip":{"pattern":"^[0-9]{5}$"}},"default":{"pattern":"(?=a)b"}})",
      rules);
  EXPECT_EQ(schema.json, R"({"properties":{"pattern":{"type":"string","format":"email"},)"
                         R"("zip":{"pattern":"^[0-9]{5}$"}},"default":{"pattern":"(?=a)b"}})");
  EXPECT_EQ(schema.patterns_left_out, 1U);
}

TEST(FittedSchema, WritesOneValueAsAListOfIt) {
  model::SchemaRules rules;
  rules.const_as_enum = true;
  EXPECT_EQ(fitted(R"({"properties":{"const":{"type":"string","const":"fruit"}},)"
                   R"("$defs":{"l":{"enum":["a","b"],"const":{"const":1}}}})",
                   rules),
            R"({"properties":{"const":{"type":"string","enum":["fruit"]}},)"
            R"("$defs":{"l":{"enum":[{"const":1}]}}})");
  EXPECT_EQ(fitted(R"({"const":)", rules), R"({"const":)");
}

constexpr std::string_view strict_tool =
    R"("tools":[{"type":"function","function":{"name":"t","strict":true,"parameters":)"
    R"({"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)y"}}}}}])";

TEST(FittedSchema, IsSentToTheVendorThatRefusesTheOther) {
  for (const std::string_view mode : {"chatCompletion", "responses"}) {
    const auto built =
        test::build(test::settings_of("openai"),
                    test::question("gpt-4o", std::string(strict_tool) + R"(,"apiMode":")" +
                                                 std::string(mode) + "\""));
    ASSERT_TRUE(built);
    EXPECT_FALSE(test::has(built.value().request.body, "(?!")) << built.value().request.body;
    ASSERT_EQ(built.value().notes.size(), 1U);
    EXPECT_EQ(built.value().notes.front().what, "tools");
  }
  EXPECT_TRUE(test::has(test::body_of(test::build(test::settings_of("deepseek"),
                                                  test::question("deepseek-chat", strict_tool))),
                        "(?!"));
  const std::string moonshot_body = test::body_of(test::build(
      test::settings_of("moonshot"),
      test::question("kimi-k2.5",
                     R"("tools":[{"type":"function","function":{"name":"t","parameters":)"
                     R"({"type":"object","properties":{"a":{"items":[{"type":"number"}]}}}}}])")));
  EXPECT_TRUE(test::has(moonshot_body, R"("prefixItems":[{"type":"number"}])")) << moonshot_body;
  const std::string gemini = test::body_of(test::build(
      test::settings_of("google"),
      test::question(
          "gemini-3-flash-preview",
          R"("response_format":{"type":"json_schema","json_schema":{"name":"s","schema":)"
          R"({"type":"object","properties":{"a":{"const":"x"}}}}})")));
  EXPECT_TRUE(test::has(gemini, R"("enum":["x"])")) << gemini;
}

}  // namespace
}  // namespace millrace
