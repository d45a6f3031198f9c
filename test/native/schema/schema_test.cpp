#include "schema/schema.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::schema {
namespace {

std::string violations_of(std::string_view schema_json, std::string_view value_json,
                          const Limits& limits = {}) {
  auto schema = Schema::compile(schema_json);
  if (!schema) return std::string(schema.error().code_name());
  json::Document document(512);
  auto value = document.parse(value_json);
  if (!value) return std::string(value.error().code_name());
  auto violations = schema.value().validate(value.value(), limits);
  if (!violations) return std::string(violations.error().code_name());
  return describe(violations.value());
}

TEST(Schema, NamesPathAndKeywordOfEachViolation) {
  const auto* schema = R"({"type":"object","required":["name","tags"],
    "properties":{"name":{"type":"string","minLength":2},
                  "tags":{"type":"array","items":{"enum":["a","b"]}},
                  "a/b":{"type":"integer","minimum":3}},
    "additionalProperties":false})";
  EXPECT_EQ(violations_of(schema, R"({"name":"ab","tags":["a"],"a/b":3})"), "");
  EXPECT_EQ(violations_of(schema, R"({"name":"x","tags":["a","c"],"a/b":2.0,"more":1})"),
            "/name: minLength: must have at least 2 characters\n"
            "/tags/1: enum: must be one of [\"a\",\"b\"]\n"
            "/a~1b: minimum: must be at least 3\n"
            "/more: additionalProperties: this member is not allowed");
  EXPECT_EQ(violations_of(schema, "7"), "(the whole value): type: must be of type object");
}

TEST(Schema, TellsWhatIsWrongInsideTheClosestBranch) {
  EXPECT_EQ(violations_of(R"({"anyOf":[{"type":"null"},
                              {"type":"object","properties":{"n":{"type":"number"}}}]})",
                          R"({"n":"1"})"),
            "(the whole value): anyOf: must follow at least one of 2 schemas and follows none\n"
            "/n: type: must be of type number");
}

TEST(Schema, StopsAtTheNumberOfViolationsThatIsAskedFor) {
  std::string list = "[";
  for (int i = 0; i < 100; ++i) list += i == 0 ? "1" : ",1";
  const std::string told =
      violations_of(R"({"items":{"type":"string"}})", list + "]", {.violations = 3});
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2);
}

TEST(Schema, ReadsTheSpellingsOfOlderDrafts) {
  EXPECT_EQ(violations_of(R"({"items":[{"type":"string"}],"additionalItems":false})", "[\"a\",1]"),
            "/1: false: nothing is allowed here");
  EXPECT_EQ(violations_of(R"({"minimum":3,"exclusiveMinimum":true})", "3"),
            "(the whole value): minimum: must be at least 3");
  EXPECT_EQ(violations_of(R"({"definitions":{"a":{"type":"null"}},"$ref":"#/definitions/a"})", "1"),
            "(the whole value): type: must be of type null");
}

TEST(Schema, RefusesWhatItCannotUse) {
  EXPECT_EQ(violations_of("[]", "1"), "invalid_schema");
  EXPECT_EQ(violations_of(R"({"type":"text"})", "1"), "invalid_schema");
  EXPECT_EQ(violations_of(R"({"$ref":"https://example.com/other"})", "1"), "invalid_schema");
  EXPECT_EQ(violations_of(R"({"$ref":"#/nowhere"})", "1"), "invalid_schema");
  EXPECT_EQ(violations_of(R"({"pattern":"("})", "1"), "invalid_schema");
  EXPECT_EQ(violations_of(R"({"multipleOf":0})", "1"), "invalid_schema");
  EXPECT_EQ(violations_of("{", "1"), "invalid_json");
}

TEST(Schema, EndsHostileSchemasWithAnError) {
  EXPECT_EQ(violations_of(R"({"$ref":"#"})", "1"), "schema_too_complex");
  EXPECT_EQ(violations_of(R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})", "1"), "schema_too_complex");
  EXPECT_EQ(violations_of(R"({"not":{"$ref":"#"}})", "1"), "schema_too_complex");
  // Each level asks the next one twice.
  std::string doubling = R"({"$defs":{"d0":{"type":"string"})";
  for (int i = 1; i <= 60; ++i) {
    const std::string below = R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + "\"}";
    doubling += ",\"d" + std::to_string(i) + R"(":{"anyOf":[)" + below + "," + below + "]}";
  }
  doubling += R"(},"$ref":"#/$defs/d60"})";
  EXPECT_EQ(violations_of(doubling, "1"), "schema_too_complex");
  EXPECT_EQ(violations_of(R"({"pattern":"^(a+)+$"})", "\"" + std::string(60, 'a') + "b\""),
            "schema_too_complex");
}

TEST(Schema, BoundsTheSizeOfPatterns) {
  const std::string nested = std::string(5000, '(') + "a" + std::string(5000, ')');
  EXPECT_EQ(violations_of(R"({"pattern":")" + nested + "\"}", "\"a\""), "invalid_schema");
}

TEST(Schema, MatchesPatternsAsEcmaScriptDoes) {
  const auto fits = [](std::string_view pattern, std::string_view text) {
    std::string schema = R"({"pattern":)";
    json::append_string(schema, pattern);
    std::string value;
    json::append_string(value, text);
    return violations_of(schema + "}", value).empty();
  };
  EXPECT_TRUE(fits("b", "abc"));
  EXPECT_FALSE(fits("^b", "a\nb"));
  EXPECT_FALSE(fits("^abc$", "abc\n"));
  EXPECT_TRUE(fits("^.$", "\xF0\x9F\x90\xB2"));
  EXPECT_FALSE(fits("^\\d$", "\xDF\x80"));
  EXPECT_TRUE(fits("^\\u0041\\u{42}$", "AB"));
  EXPECT_TRUE(fits("^(?!no)[a-z]+$", "yes"));
  EXPECT_FALSE(fits("^(?!no)[a-z]+$", "nothing"));
  for (const std::string_view slug :
       {"^[a-z0-9-_]+$", "^[\\w-.]+$", "^[-a-z0-9_]+$", "^[a-z_0-9-]+$", "^[^A-Z-!]+$",
        "^[\\x61-\\x7A0-9-_]+$", "^[\\u0061-\\u007A0-9-_]+$"}) {
    EXPECT_TRUE(fits(slug, "a_1")) << slug;
    EXPECT_FALSE(fits(slug, "A!")) << slug;
  }
  EXPECT_TRUE(fits("^[a-z-]+$", "a-b"));
  EXPECT_TRUE(fits("^[0-9-_]+$", "1-2"));
  EXPECT_FALSE(fits("^[0-9-_]+$", ":"));
  EXPECT_TRUE(fits("^[^-]$", "^"));
}

}  // namespace
}  // namespace millrace::schema
