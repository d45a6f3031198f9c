#include "tool/registry.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tool/tool.hpp"

namespace millrace::tool {
namespace {

// Answers its own arguments at once.
class Echo final : public Tool {
 public:
  explicit Echo(Spec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] const Spec& spec() const override { return spec_; }
  std::unique_ptr<RunningTool> start(ToolCall call, std::shared_ptr<ToolHost> host) override {
    host->finished({call.arguments});
    return nullptr;
  }

 private:
  Spec spec_;
};

std::shared_ptr<Tool> named(std::string name) {
  Spec spec;
  spec.name = std::move(name);
  spec.parameters = R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})";
  return std::make_shared<Echo>(std::move(spec));
}

TEST(Registry, FindsToolsByName) {
  Registry registry;
  ASSERT_TRUE(registry.add(named("b")).ok());
  ASSERT_TRUE(registry.add(named("a")).ok());
  ASSERT_NE(registry.find("b"), nullptr);
  EXPECT_EQ(registry.find("b")->spec().name, "b");
  EXPECT_EQ(registry.find("c"), nullptr);
  EXPECT_EQ(registry.entries().begin()->first, "a");
}

TEST(Registry, RefusesNamesThatAreTakenOrThatProvidersRefuse) {
  Registry registry;
  ASSERT_TRUE(registry.add(named("a")).ok());
  for (const char* name : {"a", "", "has blank", "dotted.name", "a____b", "\xC3\xA4"}) {
    const auto added = registry.add(named(name));
    ASSERT_FALSE(added.ok()) << name;
    EXPECT_EQ(added.error().code, Errc::invalid_option);
  }
  EXPECT_FALSE(registry.add(named(std::string(65, 'a'))).ok());
}

TEST(Registry, RefusesParametersThatAreNoSchema) {
  Registry registry;
  Spec spec;
  spec.name = "a";
  spec.parameters = R"({"type":"nonsense"})";
  const auto added = registry.add(std::make_shared<Echo>(std::move(spec)));
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Errc::invalid_schema);
  EXPECT_TRUE(added.error().message.starts_with("The parameters of the tool 'a': "))
      << added.error().message;
}

TEST(Registry, ChecksArguments) {
  Registry registry;
  ASSERT_TRUE(registry.add(named("a")).ok());
  EXPECT_TRUE(registry.check("a", R"({"n":1})").ok());
  EXPECT_TRUE(registry.check("a", R"({'n':1,})").ok());
  EXPECT_TRUE(registry.check("a", R"("{\"n\":1}")").ok());
  EXPECT_EQ(registry.check("b", "{}").error().code, Errc::tool_not_found);
  for (const char* arguments : {"", "{}", "[1]", "{\"n\":", R"({"n":"1"})"}) {
    const auto checked = registry.check("a", arguments);
    ASSERT_FALSE(checked.ok()) << arguments;
    EXPECT_EQ(checked.error().code, Errc::invalid_argument);
    EXPECT_NE(checked.error().message.find("arguments of a"), std::string::npos);
  }
}

TEST(Spec, NamesEffects) {
  for (const Effect effect : {Effect::read, Effect::idempotent, Effect::keyed, Effect::once}) {
    EXPECT_EQ(find_effect(name_of(effect)), effect);
  }
  EXPECT_EQ(find_effect("twice"), std::nullopt);
}

TEST(Spec, IsToldToAModel) {
  Spec spec;
  spec.name = "a";
  EXPECT_EQ(definition_json(spec), R"({"type":"function","function":{"name":"a",)"
                                   R"("parameters":{"type":"object","properties":{}}}})");
}

}  // namespace
}  // namespace millrace::tool
