#include "model/schema/object.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/json.hpp"
#include "model/build.hpp"
#include "model/provider/providers.hpp"
#include "model/schema/object_schema.hpp"

namespace millrace::model {
namespace {

std::string styled(std::string_view schema, SchemaStyle style) {
  auto result = styled_schema(schema, style);
  if (!result) return std::string(result.error().code_name());
  return result.value().value_or("none");
}

constexpr std::string_view person = R"({"$schema":"https://json-schema.org/draft/2020-12/schema",
  "type":"object","properties":{"name":{"type":"string","minLength":1},
  "age":{"type":"integer","minimum":0},"mood":{"enum":["good","bad"]},
  "friend":{"$ref":"#/$defs/friend"}},"required":["name"],
  "$defs":{"friend":{"type":"object","properties":{"id":{"const":"x"}},"required":["id"]}}})";

TEST(ObjectSchema, ClosesObjectsAndDemandsEveryMemberForStrictDecoding) {
  EXPECT_EQ(
      styled(person, SchemaStyle::strict),
      R"({"type":"object","properties":{"name":{"type":"string","description":"[minLength: 1]"},)"
      R"("age":{"type":["integer","null"],"minimum":0},)"
      R"("mood":{"anyOf":[{"type":"string","enum":["good","bad"]},{"type":"null"}]},)"
      R"("friend":{"anyOf":[{"$ref":"#/$defs/friend"},{"type":"null"}]}},)"
      R"("required":["name","age","mood","friend"],"additionalProperties":false,)"
      R"("$defs":{"friend":{"type":"object","properties":{"id":{"type":"string","const":"x"}},)"
      R"("required":["id"],"additionalProperties":false}}})");
}

std::string strict_property(std::string_view property) {
  const std::string schema =
      R"({"type":"object","properties":{"p":)" + std::string(property) + R"(},"required":["p"]})";
  return styled(schema, SchemaStyle::strict);
}

std::string strict_object(std::string_view property) {
  return R"({"type":"object","properties":{"p":)" + std::string(property) +
         R"(},"required":["p"],"additionalProperties":false})";
}

TEST(ObjectSchema, TakesTypesFromNamedValuesForStrictDecoding) {
  EXPECT_EQ(strict_property(R"({"enum":["a","b"]})"),
            strict_object(R"({"type":"string","enum":["a","b"]})"));
  EXPECT_EQ(strict_property(R"({"const":true})"),
            strict_object(R"({"type":"boolean","const":true})"));
  EXPECT_EQ(strict_property(R"({"enum":[1,2]})"),
            strict_object(R"({"type":"integer","enum":[1,2]})"));
  EXPECT_EQ(strict_property(R"({"enum":[1,2.5]})"),
            strict_object(R"({"type":"number","enum":[1,2.5]})"));
  EXPECT_EQ(strict_property(R"({"enum":["a",null]})"),
            strict_object(R"({"type":["string","null"],"enum":["a",null]})"));
  EXPECT_EQ(strict_property(R"({"properties":{}})"), "none");
  EXPECT_EQ(strict_property(R"({"items":{"const":"x"}})"),
            strict_object(R"({"type":"array","items":{"type":"string","const":"x"}})"));
  EXPECT_EQ(
      strict_property(R"({"oneOf":[{"const":"a"},{"enum":[3]}]})"),
      strict_object(R"({"anyOf":[{"type":"string","const":"a"},{"type":"integer","enum":[3]}]})"));
}

TEST(ObjectSchema, IsNotStrictWhereNothingSaysTheType) {
  EXPECT_EQ(strict_property(R"({"description":"Anything"})"), "none");
  EXPECT_EQ(strict_property(R"({"type":"array","items":{"title":"Anything"}})"), "none");
  EXPECT_EQ(strict_property(R"({"const":{"a":1}})"), "none");
}

TEST(ObjectSchema, TellsBoundsInTheDescriptionForAnthropic) {
  EXPECT_EQ(
      styled(R"({"type":"object","properties":{"n":{"type":"integer","description":"How many",)"
             R"("minimum":1}}})",
             SchemaStyle::closed),
      R"({"type":"object","properties":{"n":{"type":"integer",)"
      R"("description":"How many [minimum: 1]"}},"additionalProperties":false})");
}

TEST(ObjectSchema, WritesReferencesOutForGemini) {
  EXPECT_EQ(
      styled(person, SchemaStyle::gemini),
      R"({"type":"object","properties":{"name":{"type":"string","description":"[minLength: 1]"},)"
      R"("age":{"type":"integer","minimum":0},"mood":{"type":"string","enum":["good","bad"]},)"
      R"("friend":{"type":"object","properties":{"id":{"type":"string","enum":["x"]}},)"
      R"("required":["id"],"propertyOrdering":["id"]}},"required":["name"],)"
      R"("propertyOrdering":["name","age","mood","friend"]})");
  EXPECT_EQ(styled(R"({"type":["string","null"],"format":"email"})", SchemaStyle::gemini),
            R"({"type":["string","null"],"description":"[format: \"email\"]"})");
}

// Its `responseJsonSchema` knows null as a type, numbers in enumerations, and maps.
TEST(ObjectSchema, SaysNullsNumbersAndMapsForGemini) {
  struct Row {
    std::string_view schema;
    std::string_view styled;
  };
  for (const Row& row : {
           Row{R"({"enum":[1,2]})", R"({"type":"integer","enum":[1,2]})"},
           Row{R"({"const":1.5})", R"({"type":"number","enum":[1.5]})"},
           Row{R"({"enum":["a",null]})",
               R"({"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]})"},
           Row{R"({"type":["string","null"],"enum":["a",null]})",
               R"({"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]})"},
           Row{R"({"const":null})", R"({"type":"null"})"},
           Row{R"({"const":true})", R"({"type":"boolean","description":"[const: true]"})"},
           Row{R"({"enum":["a",true]})", R"({"anyOf":[{"type":"string"},{"type":"boolean"}],)"
                                         R"("description":"[enum: [\"a\",true]]"})"},
           Row{R"({"const":{"a":1}})", "none"},
           Row{R"({"type":["string","number","null"]})",
               R"({"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]})"},
           Row{R"({"anyOf":[{"type":"string"},{"type":"null"}]})",
               R"({"anyOf":[{"type":"string"},{"type":"null"}]})"},
           Row{R"({"type":"object","additionalProperties":{"type":"integer"}})",
               R"({"type":"object","additionalProperties":{"type":"integer"}})"},
           Row{R"({"type":"object","additionalProperties":{"not":{}}})", "none"},
           Row{R"({"type":"object","properties":{"a":{"const":"x"}},"additionalProperties":true})",
               R"({"type":"object","additionalProperties":true,"properties":{"a":)"
               R"({"type":"string","enum":["x"]}},"propertyOrdering":["a"]})"},
       }) {
    EXPECT_EQ(styled(row.schema, SchemaStyle::gemini), row.styled) << row.schema;
  }
}

TEST(ObjectSchema, SaysWhatAStyleCannotSay) {
  EXPECT_EQ(
      styled(R"({"type":"object","additionalProperties":{"type":"string"}})", SchemaStyle::strict),
      "none");
  EXPECT_EQ(styled(R"({"type":"object","properties":{"a":{"not":{"type":"null"}}}})",
                   SchemaStyle::closed),
            "none");
  constexpr std::string_view tree =
      R"({"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]})";
  EXPECT_EQ(styled(tree, SchemaStyle::gemini), "none");
  EXPECT_EQ(styled(tree, SchemaStyle::closed), "none");
  EXPECT_NE(styled(tree, SchemaStyle::strict), "none");
}

std::string plan_of(std::string_view provider, std::string_view request) {
  auto config = config_of(provider);
  if (!config) return std::string(config.error().code_name());
  auto plan = plan_object(config.value(), request);
  return plan ? plan.value() : std::string(plan.error().code_name());
}

std::string mode_of(std::string_view provider, std::string_view request) {
  json::Document document;
  auto plan = document.parse(plan_of(provider, request));
  return plan ? std::string(plan.value()["mode"].string()) : "";
}

TEST(ObjectPlan, TakesTheBestWayOfEachProvider) {
  constexpr std::string_view request =
      R"({"model":"m","schema":{"type":"object","properties":{"a":{"type":"string"}}}})";
  EXPECT_EQ(mode_of("openai", request), "schema");
  EXPECT_EQ(mode_of("google", request), "schema");
  EXPECT_EQ(mode_of("bedrock", request), "tool");
  EXPECT_EQ(mode_of("anthropic", R"({"model":"claude-sonnet-4-5","schema":{"type":"object",
    "properties":{"a":{"type":"string"}}}})"),
            "schema");
  EXPECT_EQ(mode_of("anthropic", R"({"model":"claude-3-5-haiku","schema":{"type":"object",
    "properties":{"a":{"type":"string"}}}})"),
            "tool");
  const auto bedrock = [&](std::string_view model) {
    return mode_of("bedrock",
                   R"({"schema":{"type":"object","properties":{"a":{"type":"string"}}},"model":")" +
                       std::string(model) + "\"}");
  };
  EXPECT_EQ(bedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), "tool");
  EXPECT_EQ(bedrock("mistral.mistral-large-2407-v1:0"), "tool");
  EXPECT_EQ(bedrock("openai.gpt-oss-120b-1:0"), "schema");
  EXPECT_EQ(bedrock("us.meta.llama4-maverick-17b-instruct-v1:0"), "json");
  EXPECT_EQ(bedrock("us.deepseek.r1-v1:0"), "json");
  const auto groq = [&](std::string_view model) {
    return mode_of("groq", R"({"schema":{"type":"object","properties":{"a":{}}},"model":")" +
                               std::string(model) + "\"}");
  };
  EXPECT_EQ(groq("llama-3.3-70b-versatile"), "tool");
  EXPECT_EQ(groq("openai/gpt-oss-120b"), "schema");
  // A demand to call would be left out, and the model would answer what it likes.
  for (const std::string_view provider : {"zhipu", "zai", "glmcodingplan"}) {
    EXPECT_EQ(mode_of(provider, request), "json") << provider;
  }
  EXPECT_EQ(plan_of("openai", R"({"model":"m"})"), "invalid_body");
  EXPECT_EQ(plan_of("openai", R"({"model":"m","schema":{},"mode":"magic"})"), "invalid_option");
}

TEST(ObjectPlan, WrapsWhatIsNoObject) {
  EXPECT_EQ(
      plan_of("openai", R"({"model":"m","schema":{"type":"array","items":{"type":"string"}}})"),
      R"({"mode":"schema","name":"answer","wrapped":true,"strict":true,"schema":)"
      R"({"type":"object","properties":{"value":{"type":"array","items":{"type":"string"}}},)"
      R"("required":["value"],"additionalProperties":false},"payload":{"response_format":)"
      R"({"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object",)"
      R"("properties":{"value":{"type":"array","items":{"type":"string"}}},)"
      R"("required":["value"],"additionalProperties":false},"strict":true}}}})");
}

// OpenAPI's word; a property may be called so, and values are no schemas.
TEST(ObjectPlan, TakesNullableForATypeOfJsonSchema) {
  const auto schema_of = [](std::string_view property) {
    json::Document document;
    const std::string request =
        R"({"model":"m","schema":{"type":"object","nullable":true,"properties":{"p":)" +
        std::string(property) + "}}}";
    const std::string plan = plan_of("openai", request);
    auto parsed = document.parse(plan);
    return parsed ? parsed.value()["schema"]["properties"]["p"].to_json() : plan;
  };
  EXPECT_EQ(schema_of(R"({"type":"string","nullable":true})"), R"({"type":["string","null"]})");
  EXPECT_EQ(schema_of(R"({"type":"string","nullable":false})"),
            R"({"type":"string","nullable":false})");
  EXPECT_EQ(schema_of(R"({"type":["string","null"],"nullable":true})"),
            R"({"type":["string","null"]})");
  EXPECT_EQ(schema_of(R"({"type":"string","enum":["a"],"nullable":true})"),
            R"({"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]})");
  EXPECT_EQ(schema_of(R"({"items":{"allOf":[{"$ref":"#"}],"nullable":true}})"),
            R"({"items":{"anyOf":[{"allOf":[{"$ref":"#"}]},{"type":"null"}]}})");
  constexpr std::string_view other =
      R"({"properties":{"nullable":true},"default":{"nullable":true,"type":"a"}})";
  EXPECT_EQ(schema_of(other), other);
}

// The plan's members in a chat, as generateObject puts them there.
TEST(ObjectPlan, IsInTheRequestOfEveryProvider) {
  std::string without_chat;
  int requested = 0;
  for (const Provider& row : providers()) {
    if (row.dialect == Dialect::none) {
      without_chat.append(row.id).append(" ");
      continue;
    }
    const std::string settings = test::settings_of(
        row.id, row.auth == Auth::aws_sigv4
                    ? R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")"
                : row.auth == Auth::vertex ? R"("apiKey":"{}")"
                : row.base_url.empty() || row.id == "demo"
                    ? R"("baseURL":"https://gateway.example")"
                    : "");
    auto config = read_config(settings);
    ASSERT_TRUE(config) << row.id;
    auto plan = plan_object(config.value(),
                            R"({"model":"m","schema":{"type":"object","properties":)"
                            R"({"the_member":{"type":"string"}},"required":["the_member"]}})");
    ASSERT_TRUE(plan) << row.id << ": " << plan.error().message;
    json::Document document;
    auto parsed = document.parse(plan.value());
    ASSERT_TRUE(parsed);
    std::string payload = parsed.value()["payload"].to_json();
    payload.pop_back();
    payload += R"(,"model":"m","messages":[)";
    if (const auto reported = parsed.value()["instruction"].filled_string()) {
      payload += R"({"role":"system")";
      json::append_member(payload, "content", *reported);
      payload += "},";
    }
    payload += R"({"role":"user","content":"Go"}]})";
    const auto chat = test::build(settings, payload);
    ASSERT_TRUE(chat.ok()) << row.id << ": " << chat.error().message;
    EXPECT_NE(chat.value().request.body.find("the_member"), std::string::npos)
        << row.id << ": " << chat.value().request.body;
    ++requested;
  }
  EXPECT_EQ(without_chat, "bfl comfyui fal replicate voyageai elevenlabs ");
  EXPECT_GE(requested, 70);
}

std::string judged(std::string_view schema, std::string_view answer, bool wrapped = false,
                   bool validate = true) {
  std::string plan = R"({"wrapped":)";
  plan.append(wrapped ? "true" : "false").append(R"(,"schema":)").append(schema).append("}");
  auto verdict = judge_object(plan, answer, validate);
  return verdict ? verdict.value() : std::string(verdict.error().code_name());
}

TEST(ObjectVerdict, FindsTheValueInTheText) {
  constexpr std::string_view any = R"({"type":"object"})";
  EXPECT_EQ(judged(any, R"( {"a": 1} )"), R"({"object":{"a":1}})");
  EXPECT_EQ(judged(any, "Sure:\n```json\n{\"a\":1}\n```\nDone."), R"({"object":{"a":1}})");
  EXPECT_EQ(judged(any, "The answer is {\"a\":1}, as asked."), R"({"object":{"a":1}})");
}

TEST(ObjectVerdict, RemovesNullsThatTheDialectAskedFor) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object",)"
      R"("properties":{"c":{"type":"integer"},"d":{"type":["string","null"]}}}}})";
  EXPECT_EQ(judged(schema, R"({"a":null,"b":{"c":null,"d":null}})"),
            R"({"object":{"b":{"d":null}}})");
}

// Which members may be null is said by the branch that the rest of the value follows.
TEST(ObjectVerdict, RemovesNullsForTheBranchThatTheValueFollows) {
  constexpr std::string_view a =
      R"({"type":"object","properties":{"t":{"const":"a"},"x":{"type":["string","null"]}},)"
      R"("required":["t","x"]})";
  constexpr std::string_view b =
      R"({"type":"object","required":["t"],"properties":{"t":{"const":"b"},)"
      R"("x":{"type":"string"},"y":{"type":"number"}}})";
  constexpr std::string_view closed =
      R"({"type":"object","properties":{"c":{"type":"number"},"e":{"type":"string"}},)"
      R"("required":["c"],"additionalProperties":false})";
  for (const char* keyword : {"anyOf", "oneOf"}) {
    std::string schema = R"({"type":"object","properties":{"d":{")";
    schema.append(keyword).append("\":[").append(a).append(",").append(b).append(",");
    schema.append(closed).append(R"(]},"n":{"type":"number"}},"required":["d"]})");
    EXPECT_EQ(judged(schema, R"({"d":{"t":"b","x":null,"y":null}})"),
              R"({"object":{"d":{"t":"b"}}})");
    EXPECT_EQ(judged(schema, R"({"d":{"t":"b","y":1,"x":null},"n":null})"),
              R"({"object":{"d":{"t":"b","y":1}}})");
    EXPECT_EQ(judged(schema, R"({"d":{"t":"a","x":null},"n":null})"),
              R"({"object":{"d":{"t":"a","x":null}}})");
    EXPECT_EQ(judged(schema, R"({"d":{"c":5,"e":null}})"), R"({"object":{"d":{"c":5}}})");
    EXPECT_NE(judged(schema, R"({"d":{"c":null,"e":null}})").find("problems"), std::string::npos);
  }
}

TEST(ObjectVerdict, KeepsNullsThatAreDemanded) {
  constexpr std::string_view schema =
      R"({"type":"object","required":["a"],"properties":{"a":{"type":"string"},)"
      R"("b":{"type":"string"}}})";
  EXPECT_EQ(judged(schema, R"({"a":null,"b":null})", false, false), R"({"object":{"a":null}})");
  EXPECT_NE(judged(schema, R"({"a":null,"b":null})").find("/a: type: must be of type string"),
            std::string::npos);
}

TEST(ObjectVerdict, AsksForABetterAnswer) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})";
  EXPECT_EQ(judged(schema, R"({"a":"1"})"),
            R"({"problems":"/a: type: must be of type integer","repair":[{"role":"assistant",)"
            R"("content":"{\"a\":\"1\"}"},{"role":"user","content":"That answer cannot be used:\n)"
            R"(/a: type: must be of type integer\nGive the whole answer again, corrected, as JSON )"
            R"(that follows the schema."}]})");
  EXPECT_NE(judged(schema, "No.").find("it is not valid JSON"), std::string::npos);
  EXPECT_EQ(judged(schema, R"({"a":"1"})", false, false), R"({"object":{"a":"1"}})");
}

TEST(ObjectVerdict, ReportsWrongFormatsBesideTheObject) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"day":{"type":"string","format":"date"}}})";
  EXPECT_EQ(judged(schema, R"({"day":"2026-02-28"})"), R"({"object":{"day":"2026-02-28"}})");
  const std::string verdict = judged(schema, R"({"day":"2026-02-30"})");
  EXPECT_TRUE(verdict.starts_with(R"({"object":{"day":"2026-02-30"},"problems":"/day: format: )"))
      << verdict;
  EXPECT_NE(verdict.find("\"repair\""), std::string::npos);
  EXPECT_EQ(judged(schema, R"({"day":"no"})", false, false), R"({"object":{"day":"no"}})");
}

TEST(ObjectVerdict, UnwrapsTheValue) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"value":{"type":"array"}},"required":["value"]})";
  EXPECT_EQ(judged(schema, R"({"value":[1,2]})", true), R"({"object":[1,2]})");
  EXPECT_EQ(judged(schema, "[1,2]", true), R"({"object":[1,2]})");
}

}  // namespace
}  // namespace millrace::model
