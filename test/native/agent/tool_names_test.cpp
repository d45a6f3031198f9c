#include "agent/tool_names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "agent/state.hpp"
#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

const std::string long_name(60, 'a');
const std::string long_plugin(60, 'x');

TEST(ToolNames, AreShortenedByHashes) {
  EXPECT_EQ(shown_tool_name("mail", "send"), "mail____send");
  EXPECT_EQ(shown_tool_name("mcp", "get.current/weather"), "mcp____MD5HASH_36767c1f588b");
  EXPECT_EQ(shown_tool_name("mail", long_name), "mail____MD5HASH_cc7ed669cf88");
  EXPECT_EQ(shown_tool_name(long_plugin, "send"), "MD5HASH_1198000c1196____MD5HASH_2541d938b0a5");
}

// What a model means that calls `name` with these manifests and tools.
std::string meant(const std::string& name, const std::string& state) {
  Tree call = Tree::object();
  call.set("id", "c");
  call.at("function").set("name", name);
  const Tree made = resolved_call(tree(state), chat_tool_call(call));
  return std::string(made["identifier"].string()) + "/" + std::string(made["apiName"].string());
}

TEST(ToolNames, AreResolvedByTheManifests) {
  const std::string weather = R"({"toolManifestMap":{"@b/use":{"api":[{"name":"get.x"}]}}})";
  EXPECT_EQ(meant(shown_tool_name("@b/use", "get.x"), weather), "@b/use/get.x");
  EXPECT_EQ(meant(shown_tool_name("@b/use", "get.x") + "____mcp", weather), "@b/use/get.x");
  const std::string found =
      R"({"activatedStepTools":[{"id":"p q","manifest":{"api":[{"name":"r"}]}}]})";
  EXPECT_EQ(meant(shown_tool_name("p q", "r"), found), "p q/r");
  EXPECT_EQ(meant("p____MD5HASH_000000000000", weather), "p/MD5HASH_000000000000");
}

TEST(ToolNames, FindTheOnlyPluginThatIsOffered) {
  const std::string manifests =
      R"("toolManifestMap":{"a":{"api":[{"name":"read"}]},"b":{"api":[{"name":"read"}]}})";
  const auto with = [&](const char* tools) {
    return std::string("{\"tools\":[").append(tools).append("],").append(manifests).append("}");
  };
  const char* one = R"({"function":{"name":"a____read"}})";
  EXPECT_EQ(meant("read", with(one)), "a/read");
  const char* typed = R"({"function":{"name":"b____read____mcp"}})";
  EXPECT_EQ(meant("read", with(typed)), "b/read");
  const char* both = R"({"function":{"name":"a____read"}},{"function":{"name":"b____read"}})";
  EXPECT_EQ(meant("read", with(both)), "read/read");
  const char* own = R"({"function":{"name":"a____read"}},{"function":{"name":"read"}})";
  EXPECT_EQ(meant("read", with(own)), "read/read");
  EXPECT_EQ(meant("read", with("")), "read/read");
}

}  // namespace
}  // namespace millrace::agent
