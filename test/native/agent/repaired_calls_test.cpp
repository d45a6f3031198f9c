// Arguments of calls that are mended before anything reads them.
#include "agent/repaired_calls.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/gate.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::string_view tools =
    R"([{"type":"function","function":{"name":"search","parameters":{"type":"object",)"
    R"("properties":{"query":{"type":"string"},"limit":{"type":"integer"}},)"
    R"("required":["query","limit"],"additionalProperties":false}}},)"
    R"({"type":"function","function":{"name":"write","parameters":{"type":"object",)"
    R"("properties":{"text":{"type":"string"}},"required":["text"]}}}])";

struct Outcome {
  std::string arguments;
  std::string what;
};

Outcome repaired(std::string_view name, std::string_view arguments) {
  Tree call = Tree::object();
  call.set("id", "c");
  call.at("function").set("name", name);
  call.at("function").set("arguments", arguments);
  Tree result = Tree::object();
  result.at("tool_calls") = Tree::array();
  result.at("tool_calls").push(std::move(call));
  const auto made = repair_calls(result, Tree::parse(tools).value());
  return {std::string(result["tool_calls"].items()[0]["function"]["arguments"].string()),
          made.empty() ? "" : made.front().what};
}

TEST(RepairedCalls, UnpackArgumentsThatAreTheTextOfOne) {
  const Outcome made = repaired("search", R"({"query":"{\"query\":\"x\",\"limit\":5}"})");
  EXPECT_EQ(made.arguments, R"({"query":"x","limit":5})");
  EXPECT_EQ(made.what, "all of them as the text of `query`");
}

TEST(RepairedCalls, LeaveWhatTheToolTakesOrHasAnotherReading) {
  for (const auto& [name, arguments] : {
           std::pair{"write", R"({"text":"{\"text\":\"x\"}"})"},
           std::pair{"search", R"({"query":"{\"other\":1}"})"},
           std::pair{"search", R"({"query":"{\"query\":\"x\"}"})"},
           std::pair{"search", R"({"query":"{\"query\":\"x\",\"limit\":5}","limit":1})"},
           std::pair{"write", R"({"text":{"a":1}})"},
           std::pair{"unknown", R"({"query":"{\"query\":\"x\",\"limit\":5}"})"},
       }) {
    const Outcome made = repaired(name, arguments);
    EXPECT_EQ(made.arguments, arguments);
    EXPECT_EQ(made.what, "");
  }
}

TEST(RepairedCalls, ReadArgumentsThatAreEncodedTwice) {
  const Outcome made = repaired("write", R"("{\"text\":\"x\"}")");
  EXPECT_EQ(made.arguments, R"({"text":"x"})");
}

// Who judges a call sees what its tool would be given.
TEST(ReadArguments, ReadWhatIsNearlyJson) {
  const auto read = [](std::string_view text) {
    const auto value = read_arguments(text);
    return value ? value.value().to_json() : "error";
  };
  EXPECT_EQ(read(""), "{}");
  EXPECT_EQ(read(R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(read(R"({'command':'rm -rf /',})"), R"({"command":"rm -rf /"})");
  EXPECT_EQ(read(R"("{\"a\":1}")"), R"({"a":1})");
  EXPECT_EQ(read(R"({"a":)"), "error");
}

// Tools in JavaScript read arguments by the same function.
TEST(ReadArguments, AreTheSameForTheHost) {
  CountingIds ids("m");
  const RegexTest regex = [](std::string_view, std::string_view) { return std::optional(false); };
  const auto repaired = [&](std::string_view text) {
    Tree query = Tree::object();
    query.set("text", text);
    const auto value = answer("repairArguments", query, {0, ids, regex});
    return value ? value.value().to_json() : value.error().message;
  };
  EXPECT_EQ(repaired("{'a':1}"), R"({"a":1})");
  EXPECT_EQ(repaired(R"({"a":)"), "null");
}

}  // namespace
}  // namespace millrace::agent
