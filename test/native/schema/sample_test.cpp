#include "schema/sample.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "schema/schema.hpp"

namespace millrace::schema {
namespace {

std::string sample_of(std::string_view schema) {
  json::Document document;
  const auto parsed = document.parse(schema);
  return parsed ? sample_json(parsed.value()) : "";
}

TEST(Sample, FollowsTheSchema) {
  constexpr std::array<std::string_view, 14> schemas{
      R"({"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"}},"required":["to"],"additionalProperties":false})",
      R"({"type":"array","items":{"type":"boolean"},"minItems":3})",
      R"({"type":"array","items":{"type":"string"},"maxItems":0})",
      R"({"type":"array","prefixItems":[{"const":1},{"type":"null"}],"items":false})",
      R"({"type":"integer","exclusiveMinimum":5,"multipleOf":4})",
      R"({"type":"number","maximum":-2.5})",
      R"({"type":["null","string"],"minLength":40,"maxLength":50})",
      R"({"enum":["b","a"]})",
      R"({"anyOf":[{"type":"null"},{"type":"integer","minimum":7}]})",
      R"({"allOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},{"type":"object","properties":{"b":{"const":2}},"required":["b"]}]})",
      R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"type":"string"}},"required":["v"]}}})",
      R"({"type":"object","properties":{"when":{"type":"string","format":"date-time"},"id":{"type":"string","format":"uuid"}}})",
      R"({"default":{"a":1},"type":"object"})",
      R"({})",
  };
  for (const std::string_view text : schemas) {
    const auto compiled = Schema::compile(std::string(text));
    ASSERT_TRUE(compiled) << text;
    const std::string sample = sample_of(text);
    json::Document document;
    const auto value = document.parse(sample);
    ASSERT_TRUE(value) << sample;
    Limits limits;
    limits.formats = true;
    const auto violations = compiled.value().validate(value.value(), limits);
    ASSERT_TRUE(violations) << text;
    EXPECT_EQ(describe(violations.value()), "") << text << " " << sample;
  }
}

TEST(Sample, UsesWordsThatFitTheName) {
  EXPECT_EQ(
      sample_of(
          R"({"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}})"),
      R"({"to":"Ada","text":"Hello"})");
}

TEST(Sample, EndsWhereASchemaDoesNot) {
  const std::string endless =
      R"({"type":"object","properties":{"me":{"$ref":"#"}},"required":["me"]})";
  EXPECT_LT(sample_of(endless).size(), 1000U);
  EXPECT_EQ(sample_of(R"({"$ref":"#"})"), "null");
  EXPECT_EQ(sample_of(R"({"$ref":"https://example.com/other"})"), R"("sample")");
}

}  // namespace
}  // namespace millrace::schema
