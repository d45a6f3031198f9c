#include "schema/schema.hpp"

#include <gtest/gtest.h>

#include <string>

#include "schema/pattern.hpp"

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
  const std::string reported =
      violations_of(R"({"items":{"type":"string"}})", list + "]", {.violations = 3});
  EXPECT_EQ(std::count(reported.begin(), reported.end(), '\n'), 2);
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
  EXPECT_TRUE(fits("^(['\"]).*\\1$", "'a'"));
  EXPECT_FALSE(fits("^(['\"]).*\\1$", "'a\""));
}

TEST(Schema, KnowsThePropertiesOfCodePoints) {
  const auto fits = [](std::string_view pattern, std::string_view text) {
    std::string schema = R"({"pattern":)";
    json::append_string(schema, pattern);
    std::string value;
    json::append_string(value, text);
    return violations_of(schema + "}", value).empty();
  };
  constexpr std::string_view street =
      "a\xC3\x9F"
      "9_";
  EXPECT_TRUE(fits("^[\\p{L}\\p{N}_-]+$", street));
  EXPECT_FALSE(fits("^[\\p{L}\\p{N}-]+$", street));
  EXPECT_TRUE(fits("^[\\p{L}]+$", "Abc"));
  EXPECT_TRUE(fits("^\\p{L}+$", "Abc\xE4\xBD\xA0"));
  EXPECT_FALSE(fits("^\\p{L}+$", "a1"));
  EXPECT_TRUE(fits("^\\P{L}+$", "1-\xE2\x82\xAC"));
  EXPECT_FALSE(fits("^[^\\p{L}]+$", "1a"));
  EXPECT_TRUE(fits("^[^\\P{Lu}]+$", "\xC3\x84"));
  EXPECT_FALSE(fits("^\\p{Uppercase_Letter}$", "\xC3\xA4"));
  EXPECT_TRUE(fits("^\\p{gc=Nd}{2}$", "4\xDF\x80"));
  EXPECT_TRUE(fits("^[\\p{Sc}a-c]+$", "$b"));
}

TEST(Schema, DemandsNothingByPatternsThatItDoesNotKnow) {
  for (const char* pattern :
       {R"("^\\S+\\Z")", R"("^\\p{Script=Han}$")", R"("[\\p{Nonsense}]")", R"("\\h+")"}) {
    EXPECT_EQ(violations_of(R"({"pattern":)" + std::string(pattern) + "}", "\"?\""), "") << pattern;
    EXPECT_EQ(violations_of(R"({"patternProperties":{)" + std::string(pattern) +
                                R"(:false},"additionalProperties":false})",
                            R"({"a":1})"),
              "")
        << pattern;
  }
}

// "1", "0", or "?" for a pattern that is left to JavaScript.
std::string found_by_script(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::compile(pattern, Syntax::script);
  if (!compiled) return "?";
  const auto found = compiled.value().found_in(text);
  return found ? (*found ? "1" : "0") : "too long";
}

TEST(Pattern, MeansWhatRegExpMeans) {
  struct Row {
    std::string_view pattern;
    std::string_view text;
    std::string_view found;
  };
  for (const Row& row : {Row{"\\`", "plain", "0"},
                         {"\\`id\\`", "`id`", "1"},
                         {"echo \\'x", "echo 'x", "1"},
                         {"\\<b\\>", "<b>", "1"},
                         {"\\<b", "b", "0"},
                         {"^\\A\\Z\\z\\G\\K\\Q\\E\\R\\X\\C$", "AZzGKQERXC", "1"},
                         {"^\\h\\H\\V\\N\\L\\U\\l\\e\\a\\y\\_$", "hHVNLUleay_", "1"},
                         {"^[\\h\\A\\e]+$", "hAe", "1"},
                         {"^\\t\\n\\v\\f\\r[\\b]\\cJ$", "\t\n\v\f\r\b\n", "1"},
                         {"^\\x41\\u0042\\xg$", "ABxg", "1"},
                         {"^\\u{3}$", "uuu", "1"},
                         {"a{,3}", "a{,3}", "1"},
                         {"^a{2}$", "aa", "1"},
                         {"^a{1,2}?b{0,}$", "aabb", "1"},
                         {"]}{", "]}{", "1"},
                         {"[[]a]", "[a]", "1"},
                         {"^[[:d:]+$", ":d[", "1"},
                         {"[]", "x", "0"},
                         {"^[^]$", "\n", "1"},
                         {"^.$", "\f", "1"},
                         {"^.$", "\xE2\x80\xA8", "0"},
                         {"^.$", "\xF0\x9F\x90\xB2", "0"},
                         {"^..$", "\xF0\x9F\x90\xB2", "1"},
                         {"^\\ud83d\\udc32$", "\xF0\x9F\x90\xB2", "1"},
                         {"^(?:(a)|b\\1)$", "b", "?"},
                         {"^(a)?b\\1$", "b", "1"},
                         {"^(a)?b\\1$", "aba", "1"},
                         {"^(a)?b\\1$", "ab", "0"},
                         {"(a)|b\\1", "b", "1"},
                         {"^(?<one>a)\\1{2}$", "aaa", "1"},
                         {"(?<one>a)\\k<one>", "aa", "?"},
                         {"\\1(a)", "a", "?"},
                         {"(a\\1)", "a", "?"},
                         {"a++", "aaa", "?"},
                         {"a{2}+", "aaa", "?"},
                         {"(?i)rm", "RM", "?"},
                         {"(?#x)a", "a", "?"},
                         {"(?>a)", "a", "?"},
                         {"(*F)", "a", "?"},
                         {"\\07", "\x07", "?"},
                         {"\\c1", "\\c1", "?"},
                         {"a\\", "a", "?"},
                         {"(?<!x)rm", "rm", "1"},
                         {"(?<=x)rm(?!y)(?=z)", "xrmz", "1"},
                         {"(?<=a)+b", "ab", "?"},
                         {"^\\s[\\s]$", "\xC2\xA0\xEF\xBB\xBF", "1"},
                         {"\\S|[\\S]", "\xC2\xA0\xEF\xBB\xBF\x0B", "0"},
                         {"^\\S[\\S]$", "a\x1C", "1"},
                         {"a+?b*?c??", "a", "1"}}) {
    EXPECT_EQ(found_by_script(row.pattern, row.text), row.found) << row.pattern;
  }
  EXPECT_EQ(found_by_script("\\0", std::string_view("\0", 1)), "1");
  EXPECT_EQ(found_by_script("^(a+)+$", std::string(60, 'a') + "b"), "too long");
}

}  // namespace
}  // namespace millrace::schema
