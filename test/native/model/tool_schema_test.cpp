// Schemas of tools that are no plain objects: providers refuse them at the root.
#include "model/schema/tool_schema.hpp"

#include <gtest/gtest.h>

#include "model/build.hpp"

namespace millrace {
namespace {

model::RootSchema schema_of(std::string_view text) {
  json::Document document;
  auto parsed = document.parse(text);
  if (!parsed) return {parsed.error().message, {}};
  auto made = model::tool_schema(parsed.value());
  return made ? made.value() : model::RootSchema{made.error().message, {}};
}

constexpr std::string_view by_kind =
    R"({"anyOf":[{"type":"object","properties":{"kind":{"type":"string","const":"city"},)"
    R"("name":{"type":"string"}},"required":["kind","name"],"additionalProperties":false},)"
    R"({"type":"object","properties":{"kind":{"type":"string","const":"point"},)"
    R"("x":{"type":"number"}},"required":["kind","x"],"additionalProperties":false}]})";

TEST(ToolSchema, MergesTheBranchesOfAUnion) {
  const auto made = schema_of(by_kind);
  EXPECT_EQ(made.json,
            R"({"type":"object","properties":{"kind":{"type":"string","enum":["city","point"]},)"
            R"("name":{"type":"string"},"x":{"type":"number"}},"required":["kind"],)"
            R"("additionalProperties":false})");
  EXPECT_EQ(made.described, by_kind);
}

TEST(ToolSchema, KeepsWhatIsNoUnion) {
  const std::string plain =
      R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}})";
  EXPECT_EQ(schema_of(plain).json, plain);
  EXPECT_EQ(schema_of(plain).described, "");
}

// A strict tool whose schema has a place without a type is refused.
TEST(ToolSchema, SaysTheTypeOfNamedValues) {
  EXPECT_EQ(schema_of(R"({"type":"object","properties":{"k":{"const":"x"},"n":{"enum":[1,2]},)"
                      R"("any":{"description":"Anything"},"mixed":{"enum":["a",null]}}})")
                .json,
            R"({"type":"object","properties":{"k":{"const":"x","type":"string"},)"
            R"("n":{"enum":[1,2],"type":"integer"},"any":{"description":"Anything"},)"
            R"("mixed":{"enum":["a",null]}}})");
}

TEST(ToolSchema, MakesEveryRootOneObject) {
  struct Row {
    std::string_view schema;
    std::string_view json;
    bool described;
  };
  for (const Row& row : {
           Row{R"({})", R"({"type":"object","properties":{}})", false},
           Row{R"({"type":["object","null"],"properties":{"a":{}},"required":["a"]})",
               R"({"type":"object","properties":{"a":{}},"required":["a"]})", false},
           Row{R"({"type":"string","minLength":1})",
               R"({"type":"object","minLength":1,"properties":{}})", true},
           Row{R"({"anyOf":[{"type":"string"},{"type":"number"}]})",
               R"({"type":"object","properties":{}})", true},
           // A reference to an object says nothing more than the object.
           Row{R"({"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"$ref":)"
               R"("#/$defs/A"}},"required":["a"]}}})",
               R"({"type":"object","$defs":{"A":{"type":"object","properties":{"a":{"$ref":)"
               R"("#/$defs/A"}},"required":["a"]}},"properties":{"a":{"$ref":"#/$defs/A"}},)"
               R"("required":["a"]})",
               false},
           // Branches beside members: what each of two branches demands, nobody must give.
           Row{R"({"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},)"
               R"({"required":["b"]}]})",
               R"({"type":"object","properties":{"a":{},"b":{}}})", true},
           Row{R"({"allOf":[{"type":"object","properties":{"a":{}},"required":["a"]},)"
               R"({"type":"object","properties":{"b":{}},"required":["b"]}]})",
               R"({"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]})", true},
           Row{R"({"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},)"
               R"({"type":"object","properties":{"a":{"type":"number"}}},{"type":"null"}]})",
               R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},)"
               R"({"type":"number"}]}}})",
               true},
           // What one branch narrows is open in the other.
           Row{R"({"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"properties":)"
               R"({"a":{"const":"x"}}},{"properties":{"b":{}}}]})",
               R"({"type":"object","properties":{"a":{"type":"string"},"b":{}}})", true},
           // What referred into a branch finds no branch any more.
           Row{R"({"anyOf":[{"type":"object","properties":{"a~/":{"type":"string"}}},)"
               R"({"type":"object","properties":{"b":{"$ref":"#/anyOf/0/properties/a~0~1"}}}]})",
               R"({"type":"object","properties":{"a~/":{"type":"string"},"b":{"type":"string"}}})",
               true},
       }) {
    const auto made = schema_of(row.schema);
    EXPECT_EQ(made.json, row.json) << row.schema;
    EXPECT_EQ(!made.described.empty(), row.described) << row.schema << made.described;
  }
}

TEST(ToolSchema, EndsWhereBranchesLeadToThemselves) {
  const auto made =
      schema_of(R"({"anyOf":[{"$ref":"#"},{"$ref":"#"},{"type":"object","properties":{"a":{"$ref":)"
                R"("#/anyOf/2/properties/a"}},"required":["a"]}]})");
  EXPECT_EQ(made.json.find("anyOf"), std::string::npos) << made.json;
  EXPECT_TRUE(made.json.starts_with(R"({"type":"object","properties":{"a":)")) << made.json;
}

TEST(ToolSchema, IsToldWithTheToolAndHoldsNobodyStrictly) {
  const std::string tool = R"("tools":[{"type":"function","function":{"name":"go","description":)"
                           R"("Goes.","strict":true,"parameters":)" +
                           std::string(by_kind) + "}}]";
  for (const auto& [provider, model] :
       {std::pair("openai", "gpt-4.1"), std::pair("anthropic", "claude-sonnet-4-5")}) {
    const std::string body =
        test::body_of(test::build(test::settings_of(provider), test::question(model, tool)));
    EXPECT_NE(body.find(R"(:{"type":"object","properties":{"kind":{"type":"string","enum":)"),
              std::string::npos)
        << body;
    EXPECT_NE(body.find(R"("description":"Goes.\n\nThe arguments follow this JSON Schema: )"
                        R"({\"anyOf\":[{\"type\":\"object\")"),
              std::string::npos)
        << body;
    EXPECT_EQ(body.find("strict"), std::string::npos) << body;
  }
}

TEST(ToolSchema, IsNotToldWhereADescriptionWouldBeTooLong) {
  const std::string tool =
      R"("tools":[{"type":"function","function":{"name":"go","description":")" +
      std::string(1000, 'x') + R"(","parameters":)" + std::string(by_kind) + "}}]";
  const std::string body =
      test::body_of(test::build(test::settings_of("openai"), test::question("gpt-4.1", tool)));
  EXPECT_TRUE(test::has(body, R"("kind":{"type":"string","enum":)")) << body;
  EXPECT_FALSE(test::has(body, "The arguments follow")) << body;
}

TEST(ToolSchema, MayBeTrueAndNothingElseThatIsNoObject) {
  const auto built_with = [](std::string_view schema) {
    return test::build(test::settings_of("openai"),
                       test::question("gpt-4.1", R"("tools":[{"type":"function","function":)"
                                                 R"({"name":"go","parameters":)" +
                                                     std::string(schema) + "}}]"));
  };
  for (const std::string_view schema : {"true", "null", "{}"}) {
    EXPECT_TRUE(test::has(test::body_of(built_with(schema)), R"("parameters":{)")) << schema;
  }
  for (const std::string_view schema : {"false", "7", R"("{}")", "[]"}) {
    const auto built = built_with(schema);
    ASSERT_FALSE(built.ok()) << schema;
    EXPECT_EQ(built.error().code, Errc::invalid_body);
    EXPECT_TRUE(test::has(built.error().message, R"(`tools[].parameters` of "go")"))
        << built.error().message;
  }
}

}  // namespace
}  // namespace millrace
