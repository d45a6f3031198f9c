#include "agent/host_turn.hpp"

#include <gtest/gtest.h>

#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

TEST(HostTurn, ReadsCallsOfEveryShape) {
  const auto chunk =
      host_chunk(R"({"message":{"role":"assistant","content":null,"tool_calls":[null,{"id":"x"},)"
                 R"({"id":5,"function":{"name":"f","arguments":{"a":1}}},)"
                 R"({"id":"y","more":true,"function":{"name":"g","arguments":"{"}},)"
                 R"({"function":{"name":"h"}}]},"usage":{"prompt_tokens":2}})");
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk.value()["tool_calls"],
            tree(R"([{"id":"","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
                 R"({"id":"y","more":true,"type":"function",)"
                 R"("function":{"name":"g","arguments":"{"}},)"
                 R"({"id":"","type":"function","function":{"name":"h","arguments":"{}"}}])"));
  EXPECT_EQ(chunk.value()["usage"]["prompt_tokens"].integer_or(0), 2);
  for (const std::string_view calls : {"{}", "\"x\"", "7", "null"}) {
    const auto plain = host_chunk(
        std::string(R"({"message":{"content":"ok","tool_calls":)").append(calls).append("}}"));
    ASSERT_TRUE(plain.ok());
    EXPECT_TRUE(plain.value()["tool_calls"].items().empty()) << calls;
  }
}

TEST(HostTurn, TellsWhatTheHostFailedWith) {
  EXPECT_EQ(host_chunk("{").error().code, Errc::invalid_json);
  EXPECT_EQ(host_chunk(R"({"message":7})").error().code, Errc::provider_error);
  const auto failed = host_chunk(R"({"error":{"type":"rate_limited","message":"slow down"}})");
  EXPECT_EQ(failed.error().code, Errc::rate_limited);
  EXPECT_EQ(failed.error().message, "slow down");
}

TEST(HostTurn, GivesRowsBackAsTheyWereSaid) {
  const Tree given = tree(R"({"role":"assistant","content":[{"text":"a"},null],"id":"own"})");
  const auto chunk = host_chunk(
      R"({"message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"note":1}})");
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk.value()["content"].string(), "hi");
  Tree answer = tree(R"({"id":"m1","role":"assistant","content":"hi","parentId":"m0"})");
  answer.set("turn", chunk.value()["turn"]);
  Tree rows = Tree::array();
  rows.push(given);
  rows.push(answer);
  rows.push(tree(R"({"id":"m2","role":"tool","content":"r","tool_call_id":"c","plugin":{}})"));
  const Tree reported =
      tree(R"([{"role":"assistant","content":[{"type":"text","text":"hi"}],"note":1},)"
           R"({"role":"tool","content":"r","tool_call_id":"c"}])");
  EXPECT_EQ(plain_messages(rows, 1), reported);
  const Tree request = tree(host_request(rows));
  ASSERT_EQ(request["messages"].items().size(), 3U);
  EXPECT_EQ(request["messages"].items().front(), given);
  EXPECT_EQ(request["messages"].items()[1], reported.items().front());
}

}  // namespace
}  // namespace millrace::agent
