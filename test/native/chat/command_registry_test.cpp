#include "chat/command_registry.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "chat/command_rig.hpp"

namespace millrace::chat {
namespace {

Result<Command> read(std::string_view json) {
  return read_command(parsed(json));
}

TEST(CommandRegistry, ReadsADeclarationWithItsDefaults) {
  const Command command = read(R"({"name":" Echo "})").value();
  EXPECT_EQ(command.name, "echo");
  EXPECT_EQ(command.usage, "/echo");
  EXPECT_EQ(command.access.permission, Permission::everyone);
  EXPECT_FALSE(command.access.allow_in_private);
  EXPECT_EQ(command.access.rate_limit, (RateLimit{10'000, 5'000, 0}));
  EXPECT_TRUE(command.show_in_help);
  EXPECT_EQ(command.order, 999);
  EXPECT_FALSE(command.inference);
}

TEST(CommandRegistry, ReadsRateLimits) {
  EXPECT_EQ(read(R"({"name":"a","rate_limit":"none"})").value().access.rate_limit,
            (RateLimit{0, 0, 0}));
  EXPECT_EQ(read(R"({"name":"a","rate_limit":"stats"})").value().access.rate_limit,
            (RateLimit{3'600'000, 5'000, 0}));
  EXPECT_EQ(read(R"({"name":"a","rate_limit":{"user":0.5}})").value().access.rate_limit,
            (RateLimit{500, 5'000, 0}));
}

TEST(CommandRegistry, LetsSubcommandsInherit) {
  const Command command = read(R"({"name":"a","permission":"admin","allow_in_private":true,
    "rate_limit":"none","subcommands":{"X":{},"y":{"permission":"superadmin",
    "allow_in_private":false,"rate_limit":{"user":1}}}})")
                              .value();
  const Subcommand* inherits = command.subcommand("x");
  ASSERT_NE(inherits, nullptr);
  EXPECT_EQ(inherits->access.permission, Permission::admin);
  EXPECT_TRUE(inherits->access.allow_in_private);
  const Subcommand* own = command.subcommand("Y");
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->access.permission, Permission::superadmin);
  EXPECT_FALSE(own->access.allow_in_private);
  EXPECT_EQ(own->access.rate_limit, (RateLimit{1000, 0, 0}));
}

TEST(CommandRegistry, RejectsWhatIsWrong) {
  for (const std::string_view json : {
           R"({})",
           R"([])",
           R"({"name":"a b"})",
           R"({"name":"/a"})",
           R"({"name":"a","permission":"Admin"})",
           R"({"name":"a","permission":7})",
           R"({"name":"a","rate_limit":"often"})",
           R"({"name":"a","rate_limit":{"user":-1}})",
           R"({"name":"a","rate_limit":{"user":1e99}})",
           R"({"name":"a","rate_limit":7})",
           R"({"name":"a","subcommands":{"":{}}})",
           R"({"name":"a","subcommands":{"b":{"permission":"none"}}})",
           R"({"name":"a","inference":{"default":"b"}})",
           R"({"name":"a","subcommands":{"b":{}},"inference":{"fallback":"c"}})",
           R"({"name":"a","subcommands":{"b":{}},"inference":{"rules":[{"pattern":"(",
              "subcommand":"b"}]}})",
       }) {
    const auto command = read(json);
    ASSERT_FALSE(command) << json;
    EXPECT_EQ(command.error().code, Errc::invalid_option) << json;
  }
}

TEST(CommandRegistry, FindsByNameAndAlias) {
  CommandRegistry registry;
  registry.add(read(R"({"name":"one","aliases":["x","two"]})").value());
  registry.add(read(R"({"name":"two","aliases":["X","y"]})").value());
  EXPECT_EQ(registry.find("ONE")->name, "one");
  EXPECT_EQ(registry.find("two")->name, "two");
  EXPECT_EQ(registry.find("x")->name, "one");
  EXPECT_EQ(registry.find("y")->name, "two");
  EXPECT_EQ(registry.find("z"), nullptr);
  registry.add(read(R"({"name":"one","description":"later"})").value());
  EXPECT_EQ(registry.find("one")->description, "later");
  EXPECT_EQ(registry.find("x")->name, "two");
  registry.remove("two");
  EXPECT_EQ(registry.find("x"), nullptr);
  EXPECT_EQ(registry.all().size(), 1);
}

TEST(CommandRegistry, OrdersByOrderAndName) {
  CommandRegistry registry;
  for (const std::string_view json :
       {R"({"name":"b"})", R"({"name":"a"})", R"({"name":"z","order":1})"}) {
    registry.add(read(json).value());
  }
  std::string names;
  for (const auto& command : registry.all()) names += command->name;
  EXPECT_EQ(names, "zab");
}

}  // namespace
}  // namespace millrace::chat
